"""AR4xx: who reads and writes what, in which order, and what comes out."""

from __future__ import annotations

from allreduce_gen.diagnostics.model import Code, Severity

AR401 = Code(
    id="AR401",
    name="read-after-write-race",
    what="A rank reads bytes that another rank writes, and nothing makes the read "
    "come after the write.",
    why="Across ranks only a chain of notifies and waits orders memory. Without one "
    "the reader gets old data in some runs and new data in others. pypto compiles "
    "it, and its sequentially consistent simulator often hides it.",
    example="""\
data = pl.store(staged, [0, 0], data)
# no barrier here
contribution = pld.tile.remote_load(
    data, peer=peer, offsets=[0, my_chunk], shape=[1, CHUNK]
)  # may come before the peer's store""",
    fix="Let the writer notify the reader after its store, and the reader wait before "
    "its load. A barrier between the two phases does so for all pairs.",
)

AR402 = Code(
    id="AR402",
    name="write-after-read-race",
    what="A rank overwrites bytes that another rank may still be reading.",
    why="The reader wants the old value and may get the new one. This is what an "
    "in-place all-reduce with one barrier does: the first barrier says that inputs "
    "are there, none says that everybody has read them.",
    example="""\
for step in pl.range(1, NUM_RANKS):
    peer = (my_rank + step) % NUM_RANKS
    contribution = pld.tile.remote_load(
        data, peer=peer, offsets=[0, 0], shape=[1, SIZE]
    )
    acc = pl.add(acc, contribution)
data = pl.store(acc, [0, 0], data)  # peers may still read the old data""",
    fix="Add a barrier after the reads and before the store, or store into a window "
    "of its own.",
)

AR403 = Code(
    id="AR403",
    name="write-write-race",
    what="Two ranks write the same bytes of one rank's memory in no fixed order.",
    why="Whichever store lands last wins. Atomic adds do not race with each other; "
    "plain stores and a plain store beside an atomic add do.",
    example="""\
pld.tile.remote_store(
    mine, target=data, peer=peer, offsets=[0, 0]
)  # every rank pushes to the same place of the peer""",
    fix="Give each writer its own region, for example offsets=[my_rank, 0] of a window "
    "with a row per rank; or order the two writes by a notify and a wait.",
)

AR404 = Code(
    id="AR404",
    name="out-of-bounds",
    what="An offset, a slot or a peer is outside its tensor, window or set of ranks.",
    why="pypto rejects some constant offsets and lets computed ones pass: a negative "
    "offset becomes 0 on the device, a slot outside the signal hangs the program, a "
    "peer that does not exist reads whatever memory is there.",
    example="""\
contribution = pld.tile.remote_load(
    data, peer=my_rank + 1, offsets=[0, my_chunk], shape=[1, CHUNK]
)  # the last rank has no peer my_rank + 1""",
    fix="Keep offsets + shape within the shape, and peers in 0 to NUM_RANKS - 1: "
    "`(my_rank + 1) % NUM_RANKS`.",
)

AR405 = Code(
    id="AR405",
    name="contribution-missing",
    what="Some elements of an output lack the contribution of at least one rank, or "
    "are never written.",
    why="The result is no all-reduce. Common causes: a chunk of SIZE // NUM_RANKS with "
    "a remainder, which leaves the tail out; a loop over peers that ends too early; no "
    "all-gather, so that each rank has only its own chunk.",
    example="""\
CHUNK = SIZE // NUM_RANKS  # 4098 // 4 = 1024: the last 2 elements belong to nobody""",
    fix="Make the chunks cover all elements and the loop meet every peer. The message "
    "names the first element and the ranks that are missing there.",
)

AR406 = Code(
    id="AR406",
    name="contribution-repeated",
    what="An output element holds the contribution of one rank more than once.",
    why="A sum counts that rank twice. Max and min hide it, so it appears only when "
    "the operator changes.",
    example="""\
acc = pl.load(data, [0, my_chunk], [1, CHUNK])  # the rank's own contribution
for step in pl.range(NUM_RANKS):  # step 0 is the rank itself, once more
    peer = (my_rank + step) % NUM_RANKS
    contribution = pld.tile.remote_load(
        data, peer=peer, offsets=[0, my_chunk], shape=[1, CHUNK]
    )
    acc = pl.add(acc, contribution)""",
    fix="Start the loop at 1 where the accumulator already holds the rank's own data.",
)

AR407 = Code(
    id="AR407",
    name="uninitialised-read",
    what="A read covers window bytes that nobody has written in this call. (Bytes that "
    "atomic adds write to are left out: they count up from zero.)",
    why="Fresh windows are zeroed, so a sum may still look right. Another operator, "
    "or windows that are kept from an earlier call, make it wrong.",
    example="""\
data = pl.store(staged, [0, 0], data)  # staged has CHUNK elements
whole = pl.load(data, [0, 0], [1, SIZE])  # the rest was never stored""",
    fix="Store everything that is read, or read only what was stored.",
)

AR408 = Code(
    id="AR408",
    name="wrong-position",
    what="An output element holds the right kind of value from the wrong position: "
    "elements with another index.",
    why="The data has moved: a chunk is stored in another chunk's place, or an offset "
    "is off by a few elements. Tests with equal inputs everywhere do not show it.",
    example="""\
reduced = pld.tile.remote_load(
    result, peer=owner, offsets=[0, owner * CHUNK], shape=[1, CHUNK]
)
y = pl.store(reduced, [0, step * CHUNK], y)  # step is not the chunk's number""",
    fix="Store each chunk at the offset that it was loaded from: [0, owner * CHUNK].",
)

AR409 = Code(
    id="AR409",
    name="ranks-disagree",
    what="Ranks combine the contributions to one element in different orders.",
    why="Floating-point addition is not associative, so the ranks get results that "
    "differ in the last bits. Code that branches on the result then takes different "
    "branches on different ranks. Each result is right within rounding, so this is a "
    "warning.",
    example="""\
acc = pl.load(data, [0, 0], [1, SIZE])  # every rank starts with its own slice:
for step in pl.range(1, NUM_RANKS):     # rank 0 adds 0 1 2 3, rank 1 adds 1 2 3 0
    peer = (my_rank + step) % NUM_RANKS
    contribution = pld.tile.remote_load(
        data, peer=peer, offsets=[0, 0], shape=[1, SIZE]
    )
    acc = pl.add(acc, contribution)""",
    fix="Give each element one owner that reduces it for all, as two_phase does, or "
    "let every rank add in ascending rank order.",
    severity=Severity.WARNING,
)

AR410 = Code(
    id="AR410",
    name="foreign-value",
    what="An output element contains a constant, or a value that is not an element of "
    "any rank's input; or parts of one output are made by different operators.",
    why="An all-reduce combines the inputs and nothing else, all of them alike. "
    "Something extra has come in: a constant, a filled tile, the contents of a signal, "
    "a type that cannot hold the elements or that only reads their bytes, a factor or "
    "an operator that only some chunks, ranks or calls have, a factor that loses "
    "digits which a later one does not bring back. Reals that are only rounded on "
    "their way give a warning.",
    example="""\
acc = pl.load(data, [0, my_chunk], [1, CHUNK])
acc = pl.add(acc, 1.0)  # one more than the sum of the inputs""",
    fix="Start the accumulator from a rank's data and combine only what ranks "
    "contributed, on every rank by the same operator.",
)

AR411 = Code(
    id="AR411",
    name="atomic-order-open",
    what="Atomic adds from several ranks to the same floating-point bytes are in no "
    "fixed order.",
    why="The adds do not race, but each order rounds differently: two runs of the same "
    "program on the same data may differ in the last bits.",
    example="""\
pld.tile.remote_store(
    mine, target=data, peer=owner, offsets=[0, 0], atomic=pl.AtomicType.Add
)  # every rank, whenever it gets there""",
    fix="Accept it, use an integer type, or let the owner load the contributions and "
    "add them in a fixed order.",
    severity=Severity.WARNING,
)
