"""Two-level all-reduce: sum of 1000 FP32 elements over 7 ranks.

2 groups of 3 ranks. Member m of each group adds the group's copies of chunk m, which
has 2 pieces; of these, member m of group g reduces piece g across all groups. The
results go back the same way.

    rank 0   stage | +6 | A | +c0 | B | +p0 | C | rest of c0 | D | rest | to 6 | E | out
    rank 1   stage | A | +c1 | B | +p2 | C | rest of c1 | D | rest | E | out
    rank 2   stage | A | +c2 | B | +p4 | C | rest of c2 | D | rest | E | out
    rank 3   stage | A | +c0 | B | +p1 | C | rest of c0 | D | rest | E | out
    rank 4   stage | A | +c1 | B | +p3 | C | rest of c1 | D | rest | E | out
    rank 5   stage | A | +c2 | B | +p5 | C | rest of c2 | D | rest | E | out
    rank 6   stage | to 0 | from 0 | E | out

A, D: barriers of a group. B, C: barriers of the ranks with the same member number.
E: everybody is done, so the next call may stage its inputs.

Rank 6 is folded into rank 0: it gives its elements before and gets the result after.

Cost per rank
    remote reads     10752 B   1.568 x the bound 2(P-1)/P, 0.448 x mesh
    all ranks        48384 B   the above is the busiest rank's share
    wait rounds         10     20 notifies, 10 waits
    windows           4032 B   data
    on-chip buffer    4672 B   of 188416 B

Every rank gets the same bits: after folded ranks, member m of a group combines chunk m
in the order m, m+1, ..., then group g a piece in the order g, g+1, ..., wrapping
around; of the first piece:

    ((x0 + x6) + x1 + x2) + (x3 + x4 + x5)

Windows may persist between calls: each call returns its slots to zero.

Run it where pypto is installed:

    python hierarchical_p7_n1000_fp32_self_clearing_dissemination.py -p a2a3sim \
        -d 0,1,2,3,4,5,6

Made by: allreduce-gen --ranks 7 --size 1000 --algorithm hierarchical \
    --reuse self_clearing --barrier dissemination
"""

import argparse

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import ir
from pypto.ir.distributed_compiled_program import DistributedConfig

NUM_RANKS = 7
GROUPS = 2
MEMBERS = 3  # ranks in each group
SIZE = 1000
PIECE = 168
PADDED = 1008  # elements of a window: every piece whole
CORE = 6  # ranks that exchange with each other
EXTRA = 1  # ranks after them, folded into the first ones
STAGED_ROUNDS = 2  # 2 ** STAGED_ROUNDS >= MEMBERS
REDUCED_ROUNDS = 1  # 2 ** REDUCED_ROUNDS >= GROUPS
SHARED_ROUNDS = 1  # 2 ** SHARED_ROUNDS >= GROUPS
GATHERED_ROUNDS = 2  # 2 ** GATHERED_ROUNDS >= MEMBERS
BARRIER_ROUNDS = 3  # 2 ** BARRIER_ROUNDS >= NUM_RANKS

# Each barrier has its own signal row: no notify counts for another one. The rounds of a
# barrier share its row: each notifies another peer.
ROW_STAGED = 0
ROW_REDUCED = 1
ROW_SHARED = 2
ROW_GATHERED = 3
ROW_FOLDED = 4
ROW_DONE = 5
NUM_ROWS = 6


@pl.program
class AllReduce:
    @pl.function(type=pl.FunctionType.InCore)
    def all_reduce(
        self,
        x: pl.Tensor[[1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
        data: pl.InOut[pld.DistributedTensor[[1, PADDED], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[NUM_ROWS, NUM_RANKS], pl.INT32]],
    ) -> pl.Tensor[[1, SIZE], pl.FP32]:
        ctx = pld.get_comm_ctx(data)
        my_rank = pld.rank(ctx)
        group = my_rank // MEMBERS
        member = my_rank % MEMBERS
        my_chunk = member * GROUPS * PIECE
        my_piece = my_chunk + group * PIECE

        # Stage in: peers read from the data window.
        staged = pl.load(x, [0, 0], [1, SIZE])
        data = pl.store(staged, [0, 0], data)

        # Fold in: each rank after the core gives its elements to one of the first.
        if my_rank >= CORE:
            pld.system.notify(
                signal,
                peer=my_rank - CORE,
                offsets=[ROW_FOLDED, my_rank],
                value=1,
                op=pld.NotifyOp.AtomicAdd,
            )
        if my_rank < EXTRA:
            pld.system.wait(
                signal,
                offsets=[ROW_FOLDED, my_rank + CORE],
                expected=1,
                cmp=pld.WaitCmp.Ge,
            )
            # Lower the slot again: the next call starts from zero.
            pld.system.notify(
                signal,
                peer=my_rank,
                offsets=[ROW_FOLDED, my_rank + CORE],
                value=-1,
                op=pld.NotifyOp.AtomicAdd,
            )
            for t in pl.range(CORE):
                at = t * PIECE
                acc = pl.load(data, [0, at], [1, PIECE])
                contribution = pld.tile.remote_load(
                    data, peer=my_rank + CORE, offsets=[0, at], shape=[1, PIECE]
                )
                acc = pl.add(acc, contribution)
                data = pl.store(acc, [0, at], data)

        # Barrier A, then reduce-scatter in the group: add peers' copies of the chunk.
        if my_rank < CORE:
            for step in pl.range(STAGED_ROUNDS):
                reach = 1 << step
                ahead = group * MEMBERS + (member + reach) % MEMBERS
                behind = group * MEMBERS + (member + (MEMBERS - 1) * reach) % MEMBERS
                pld.system.notify(
                    signal,
                    peer=ahead,
                    offsets=[ROW_STAGED, my_rank],
                    value=1,
                    op=pld.NotifyOp.AtomicAdd,
                )
                pld.system.wait(
                    signal, offsets=[ROW_STAGED, behind], expected=1, cmp=pld.WaitCmp.Ge
                )
                # Lower the slot again: the next call starts from zero.
                pld.system.notify(
                    signal,
                    peer=my_rank,
                    offsets=[ROW_STAGED, behind],
                    value=-1,
                    op=pld.NotifyOp.AtomicAdd,
                )
            for t in pl.range(GROUPS):
                at = my_chunk + t * PIECE
                acc = pl.load(data, [0, at], [1, PIECE])
                for step in pl.range(1, MEMBERS):
                    peer = group * MEMBERS + (member + step) % MEMBERS
                    contribution = pld.tile.remote_load(
                        data, peer=peer, offsets=[0, at], shape=[1, PIECE]
                    )
                    acc = pl.add(acc, contribution)
                data = pl.store(acc, [0, at], data)

        # Barrier B, then reduce-scatter across groups: add what the others have.
        if my_rank < CORE:
            for step in pl.range(REDUCED_ROUNDS):
                reach = 1 << step
                ahead = (group + reach) % GROUPS * MEMBERS + member
                behind = (group + (GROUPS - 1) * reach) % GROUPS * MEMBERS + member
                pld.system.notify(
                    signal,
                    peer=ahead,
                    offsets=[ROW_REDUCED, my_rank],
                    value=1,
                    op=pld.NotifyOp.AtomicAdd,
                )
                pld.system.wait(
                    signal,
                    offsets=[ROW_REDUCED, behind],
                    expected=1,
                    cmp=pld.WaitCmp.Ge,
                )
                # Lower the slot again: the next call starts from zero.
                pld.system.notify(
                    signal,
                    peer=my_rank,
                    offsets=[ROW_REDUCED, behind],
                    value=-1,
                    op=pld.NotifyOp.AtomicAdd,
                )
            acc = pl.load(data, [0, my_piece], [1, PIECE])
            for step in pl.range(1, GROUPS):
                other = (group + step) % GROUPS * MEMBERS + member
                contribution = pld.tile.remote_load(
                    data, peer=other, offsets=[0, my_piece], shape=[1, PIECE]
                )
                acc = pl.add(acc, contribution)
            data = pl.store(acc, [0, my_piece], data)

        # Barrier C, then all-gather across groups: take over the chunk's other pieces.
        if my_rank < CORE:
            for step in pl.range(SHARED_ROUNDS):
                reach = 1 << step
                ahead = (group + reach) % GROUPS * MEMBERS + member
                behind = (group + (GROUPS - 1) * reach) % GROUPS * MEMBERS + member
                pld.system.notify(
                    signal,
                    peer=ahead,
                    offsets=[ROW_SHARED, my_rank],
                    value=1,
                    op=pld.NotifyOp.AtomicAdd,
                )
                pld.system.wait(
                    signal, offsets=[ROW_SHARED, behind], expected=1, cmp=pld.WaitCmp.Ge
                )
                # Lower the slot again: the next call starts from zero.
                pld.system.notify(
                    signal,
                    peer=my_rank,
                    offsets=[ROW_SHARED, behind],
                    value=-1,
                    op=pld.NotifyOp.AtomicAdd,
                )
            for step in pl.range(1, GROUPS):
                other = (group + step) % GROUPS * MEMBERS + member
                reduced = pld.tile.remote_load(
                    data,
                    peer=other,
                    offsets=[0, my_chunk + other // MEMBERS * PIECE],
                    shape=[1, PIECE],
                )
                data = pl.store(reduced, [0, my_chunk + other // MEMBERS * PIECE], data)

        # Barrier D, then all-gather in the group: take over the other chunks.
        if my_rank < CORE:
            for step in pl.range(GATHERED_ROUNDS):
                reach = 1 << step
                ahead = group * MEMBERS + (member + reach) % MEMBERS
                behind = group * MEMBERS + (member + (MEMBERS - 1) * reach) % MEMBERS
                pld.system.notify(
                    signal,
                    peer=ahead,
                    offsets=[ROW_GATHERED, my_rank],
                    value=1,
                    op=pld.NotifyOp.AtomicAdd,
                )
                pld.system.wait(
                    signal,
                    offsets=[ROW_GATHERED, behind],
                    expected=1,
                    cmp=pld.WaitCmp.Ge,
                )
                # Lower the slot again: the next call starts from zero.
                pld.system.notify(
                    signal,
                    peer=my_rank,
                    offsets=[ROW_GATHERED, behind],
                    value=-1,
                    op=pld.NotifyOp.AtomicAdd,
                )
            for step in pl.range(1, MEMBERS):
                peer = group * MEMBERS + (member + step) % MEMBERS
                for t in pl.range(GROUPS):
                    at = peer % MEMBERS * GROUPS * PIECE + t * PIECE
                    reduced = pld.tile.remote_load(
                        data, peer=peer, offsets=[0, at], shape=[1, PIECE]
                    )
                    data = pl.store(reduced, [0, at], data)

        # Fold out: each rank after the core gets the result.
        if my_rank < EXTRA:
            pld.system.notify(
                signal,
                peer=my_rank + CORE,
                offsets=[ROW_FOLDED, my_rank],
                value=1,
                op=pld.NotifyOp.AtomicAdd,
            )
        if my_rank >= CORE:
            pld.system.wait(
                signal,
                offsets=[ROW_FOLDED, my_rank - CORE],
                expected=1,
                cmp=pld.WaitCmp.Ge,
            )
            # Lower the slot again: the next call starts from zero.
            pld.system.notify(
                signal,
                peer=my_rank,
                offsets=[ROW_FOLDED, my_rank - CORE],
                value=-1,
                op=pld.NotifyOp.AtomicAdd,
            )
            for t in pl.range(CORE):
                at = t * PIECE
                given = pld.tile.remote_load(
                    data, peer=my_rank - CORE, offsets=[0, at], shape=[1, PIECE]
                )
                data = pl.store(given, [0, at], data)

        # Barrier E: everybody is done, so the windows may be written again.
        for step in pl.range(BARRIER_ROUNDS):
            reach = 1 << step
            ahead = (my_rank + reach) % NUM_RANKS
            behind = (my_rank + (NUM_RANKS - 1) * reach) % NUM_RANKS
            pld.system.notify(
                signal,
                peer=ahead,
                offsets=[ROW_DONE, my_rank],
                value=1,
                op=pld.NotifyOp.AtomicAdd,
            )
            pld.system.wait(
                signal, offsets=[ROW_DONE, behind], expected=1, cmp=pld.WaitCmp.Ge
            )
            # Lower the slot again: the next call starts from zero.
            pld.system.notify(
                signal,
                peer=my_rank,
                offsets=[ROW_DONE, behind],
                value=-1,
                op=pld.NotifyOp.AtomicAdd,
            )

        # Stage out: the data window holds the result.
        total = pl.load(data, [0, 0], [1, SIZE])
        y = pl.store(total, [0, 0], y)
        return y

    @pl.function(type=pl.FunctionType.Orchestration)
    def per_rank(
        self,
        x: pl.Tensor[[1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
        data: pl.InOut[pld.DistributedTensor[[1, PADDED], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[NUM_ROWS, NUM_RANKS], pl.INT32]],
    ) -> pl.Tensor[[1, SIZE], pl.FP32]:
        return self.all_reduce(x, y, data, signal)

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(
        self,
        x: pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP32]],
    ) -> pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP32]:
        data_buf = pld.alloc_window_buffer([1, PADDED], dtype=pl.FP32)
        signal_buf = pld.alloc_window_buffer([NUM_ROWS, NUM_RANKS], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            data = pld.window(data_buf, [1, PADDED], dtype=pl.FP32)
            signal = pld.window(signal_buf, [NUM_ROWS, NUM_RANKS], dtype=pl.INT32)
            self.per_rank(x[r], y[r], data, signal, device=r)
        return y


def main() -> int:
    """Compile, run on random inputs, compare every rank with torch's sum."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "-p",
        "--platform",
        default="a2a3sim",
        choices=["a2a3sim", "a2a3", "a5sim", "a5"],
    )
    parser.add_argument(
        "-d", "--device", default="0,1,2,3,4,5,6", help="comma-separated ids"
    )
    parser.add_argument("--compile-only", action="store_true")
    args = parser.parse_args()

    device_ids = [int(device) for device in args.device.split(",")]
    if len(device_ids) != NUM_RANKS:
        parser.error(f"made for {NUM_RANKS} ranks, got {len(device_ids)} devices")
    compiled = ir.compile(
        AllReduce,
        platform=args.platform,
        skip_ptoas=args.compile_only,
        distributed_config=DistributedConfig(device_ids=device_ids),
    )
    if args.compile_only:
        print(compiled.output_dir)
        return 0

    import torch

    x = torch.randn(NUM_RANKS, 1, SIZE).share_memory_()
    y = torch.zeros_like(x).share_memory_()
    with compiled.prepare(persistent=True, reset_persistent_windows=False) as run:
        for call in range(1, 4):
            x.copy_(torch.randn(NUM_RANKS, 1, SIZE))
            run(x, y)
            torch.testing.assert_close(
                y, x.sum(dim=0).expand_as(y), rtol=1e-5, atol=1e-5
            )
    print("OK")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
