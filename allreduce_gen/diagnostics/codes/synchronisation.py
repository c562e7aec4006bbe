"""AR3xx: notifies, waits, and the slots between them."""

from __future__ import annotations

from allreduce_gen.diagnostics.model import Code, Severity

AR301 = Code(
    id="AR301",
    name="wait-never-satisfied",
    what="All notifies to a slot together stay below what a wait on it expects.",
    why="The rank blocks for ever, whatever the timing. On a device the wait ends in "
    "an assertion after 100 million polls; the simulator of pypto gives up after some "
    "20 seconds and does not say which rank waited for what.",
    example="""\
for step in pl.range(1, NUM_RANKS):
    peer = (my_rank + step) % NUM_RANKS
    pld.system.wait(
        signal, offsets=[ROW_STAGED, peer], expected=2, cmp=pld.WaitCmp.Ge
    )  # each peer notifies this slot once: it never passes 1""",
    fix="Add the missing notify, lower `expected` to the number of notifies that "
    "reach the slot, or wait on the slot that is notified: a rank that notifies "
    "[row, my_rank] of its peers is awaited there in column `peer`.",
)

AR302 = Code(
    id="AR302",
    name="notify-never-awaited",
    what="No wait needs a notify: none reads the slot, or none wants as much as all "
    "notifies add up to. (Notifies to oneself are left out: they reset slots.)",
    why="The signal orders nothing. Either it is dead traffic, or the wait that it was "
    "meant for is missing or looks at another slot.",
    example="""\
pld.system.notify(
    signal,
    peer=peer,
    offsets=[ROW_REDUCED, my_rank],
    value=1,
    op=pld.NotifyOp.AtomicAdd,
)  # and no wait on [ROW_REDUCED, peer] anywhere""",
    fix="Wait on the slot where the order matters, or remove the notify.",
    severity=Severity.WARNING,
)

AR303 = Code(
    id="AR303",
    name="signal-slot-reused",
    what="A wait that is meant for a later barrier round is already satisfied by an "
    "earlier one: both use the same slot, and the second does not expect more than "
    "the first left there.",
    why="Slots only count up. A slot that has let one round pass lets the next one "
    "pass at once, so the second barrier holds nobody back. Runs often look right "
    "all the same, on pypto's simulator in particular. It is an error where a race "
    "follows and a warning where none does.",
    example="""\
ROW_STAGED = 0
ROW_REDUCED = 0  # the second round finds the slots at 1 and does not wait""",
    fix="Give each barrier round its own signal row, or let round k (from 1) on a "
    "shared row wait for at least k.",
)

AR304 = Code(
    id="AR304",
    name="deadlock",
    what="Ranks wait for each other in a cycle. Each wait could be satisfied, but "
    "every notify that would do it comes after a wait that is itself blocked.",
    why="No interleaving gets past this point. Enough notifies are written down, so "
    "counting them against the waits does not find it.",
    example="""\
for step in pl.range(1, NUM_RANKS):
    peer = (my_rank + step) % NUM_RANKS
    pld.system.wait(
        signal, offsets=[ROW_STAGED, peer], expected=1, cmp=pld.WaitCmp.Ge
    )
# ... and only then the loop that notifies the peers: nobody gets there""",
    fix="Notify all peers before waiting for any of them. In longer chains, move one "
    "notify of the cycle before the wait that blocks it.",
)

AR305 = Code(
    id="AR305",
    name="barrier-misses-rank",
    what="A barrier deals with all peers but one: the loop of notifies or of waits "
    "leaves out a rank.",
    why="The barrier then orders nothing between these two ranks. Data that one stores "
    "and the other reads afterwards is unprotected, while all other pairs are fine.",
    example="""\
for step in pl.range(1, NUM_RANKS - 1):  # step NUM_RANKS - 1 is missing
    peer = (my_rank + step) % NUM_RANKS
    pld.system.wait(
        signal, offsets=[ROW_STAGED, peer], expected=1, cmp=pld.WaitCmp.Ge
    )""",
    fix="Let the loop run over `pl.range(1, NUM_RANKS)` with `peer = (my_rank + step) "
    "% NUM_RANKS`, which meets every peer once.",
)

AR306 = Code(
    id="AR306",
    name="equality-wait-on-counter",
    what="A wait with `WaitCmp.Eq` looks at a slot that can pass the expected value "
    "before the wait sees it.",
    why="A peer may run ahead and notify twice before this rank looks. The slot has "
    "then left the value for good, and the rank blocks for ever. It depends on timing, "
    "so tests seldom show it.",
    example="""\
pld.system.wait(
    signal, offsets=[0, peer], expected=1, cmp=pld.WaitCmp.Eq
)  # a fast peer has already raised the slot to 2""",
    fix="Compare with `pld.WaitCmp.Ge`, or give each round its own slot so that the "
    "value cannot move on.",
)

AR307 = Code(
    id="AR307",
    name="signal-lost",
    what="A `Set` overwrites a slot that another rank also changes, or lowers it "
    "again, so that a signal can vanish before the wait sees it.",
    why="`Set` replaces the value. Three ranks that set one slot to 1 leave 1 there, "
    "not 3, and an AtomicAdd before a Set is forgotten. A wait for the total never "
    "ends. With two ranks the fault does not show: there is only one writer.",
    example="""\
pld.system.notify(
    signal, peer=peer, offsets=[0, 0], value=1, op=pld.NotifyOp.Set
)  # from every peer
pld.system.wait(
    signal, offsets=[0, 0], expected=NUM_RANKS - 1, cmp=pld.WaitCmp.Ge
)""",
    fix="Use `pld.NotifyOp.AtomicAdd` where several ranks share a slot, or give each "
    "writer a slot of its own.",
)

AR308 = Code(
    id="AR308",
    name="signal-in-pipeline",
    what="A notify or a wait stands inside a `pl.pipeline` loop, there or in what the "
    "loop calls: a function of its own, a barrier, another collective.",
    why="The compiler reorders the body of a pipelined loop by the tiles that it "
    "passes on: loads move up, stores move down. Signals carry no tile, so a store "
    "sinks below the notify that announces it and a load rises above its wait. It "
    "does so even with one stage.",
    example="""\
for i in pl.pipeline(4, stage=2):
    data = pl.store(tile, [0, i * TILE], data)  # ends up after the notify
    pld.system.notify(
        signal, peer=peer, offsets=[0, i], value=1, op=pld.NotifyOp.AtomicAdd
    )""",
    fix="Use `pl.range`, which keeps the order, or move the signals out of the loop.",
)

AR309 = Code(
    id="AR309",
    name="not-decided",
    what="The checks can neither prove the program sound nor show that it fails.",
    why="One replay settles every interleaving where slots only grow. Other uses of a "
    "slot may depend on the interleaving: for up to 4 ranks all of them are searched, "
    "within a budget, but not for more. A loop whose rounds depend on each other may "
    "be too long to unroll. What is not proved is refused, not waved through.",
    example="""\
pld.system.notify(
    signal, peer=peer, offsets=[0, my_rank], value=-1, op=pld.NotifyOp.AtomicAdd
)  # lowers a slot that the peer waits on: has it looked yet?""",
    fix="Write it with `pld.NotifyOp.AtomicAdd` of positive values, and let only the "
    "rank that waits on a slot lower it. Let the rounds of a long loop use regions of "
    "their own.",
)

AR310 = Code(
    id="AR310",
    name="packed-set-slots",
    what="Slots that different ranks `Set` lie in the same 64-byte line.",
    why="Each slot has one writer, so the program is right as written. On hardware a "
    "Set goes through a cached line, and two ranks that write the same line at once "
    "may undo each other's slot.",
    example="""\
pld.system.notify(
    signal, peer=peer, offsets=[0, my_rank], value=1, op=pld.NotifyOp.Set
)  # slots of 4 bytes: 16 ranks share a line""",
    fix="Use `pld.NotifyOp.AtomicAdd`, or place the slots 64 bytes apart.",
    severity=Severity.WARNING,
)

AR311 = Code(
    id="AR311",
    name="repeated-set",
    what="A rank sets the same slot of the same peer more than once.",
    why="The order is sound on paper. There are reports of hardware on which the peer "
    "never saw the second Set of one slot.",
    example="""\
pld.system.notify(
    signal, peer=peer, offsets=[0, my_rank], value=1, op=pld.NotifyOp.Set
)  # barrier A
pld.system.notify(
    signal, peer=peer, offsets=[0, my_rank], value=2, op=pld.NotifyOp.Set
)  # barrier B""",
    fix="Use `pld.NotifyOp.AtomicAdd`, or a row of slots for each round.",
    severity=Severity.WARNING,
)

AR312 = Code(
    id="AR312",
    name="pipeline-reordered",
    what="In a `pl.pipeline` loop, an access to memory may move above an earlier one "
    "that it must follow, most often a load above the store that it depends on.",
    why="The compiler reorders the body of a pipelined loop: loads move up, stores "
    "move down, and several rounds are mixed. It keeps an order only where a tile or a "
    "name goes from one statement to the other, and does not compare addresses. A "
    "store whose result is dropped, a remote_store and a put hand nothing on. It does "
    "so even with one stage.",
    example="""\
for i in pl.pipeline(4, stage=2):
    pl.store(tile, [0, i * TILE], data)  # gives a name to nobody
    again = pl.load(data, [0, i * TILE], [1, TILE])  # ends up before the store""",
    fix="Go on from what the store gives: `data = pl.store(tile, offsets, data)`, then "
    "load from `data`. Otherwise use `pl.range`, which keeps the order, or split the "
    "loop in two.",
)
