"""Two-level all-reduce: sum of 4096 FP32 elements over 8 ranks.

2 groups of 4 ranks. Member m of each group adds the group's copies of chunk m, which
has 2 pieces; of these, member m of group g reduces piece g across all groups. The
results go back the same way.

    rank 0   stage | A | +c0 | B | +p0 | C | rest of c0 | D | rest | out
    rank 1   stage | A | +c1 | B | +p2 | C | rest of c1 | D | rest | out
    rank 2   stage | A | +c2 | B | +p4 | C | rest of c2 | D | rest | out
    rank 3   stage | A | +c3 | B | +p6 | C | rest of c3 | D | rest | out
    rank 4   stage | A | +c0 | B | +p1 | C | rest of c0 | D | rest | out
    rank 5   stage | A | +c1 | B | +p3 | C | rest of c1 | D | rest | out
    rank 6   stage | A | +c2 | B | +p5 | C | rest of c2 | D | rest | out
    rank 7   stage | A | +c3 | B | +p7 | C | rest of c3 | D | rest | out

A, D: barriers of a group. B, C: barriers of the ranks with the same member number.

Cost per rank
    remote reads     28672 B   1.000 x the bound 2(P-1)/P, 0.250 x mesh
    barrier rounds       4     8 notifies, 8 waits
    windows          16384 B   data
    on-chip buffer   18432 B   of 188416 B

Every rank gets the same bits: member m of a group combines chunk m in the order m, m+1,
..., then group g a piece in the order g, g+1, ..., wrapping around; of the first piece:

    (x0 + x1 + x2 + x3) + (x4 + x5 + x6 + x7)

Run it where pypto is installed:

    python hierarchical_p8_n4096_fp32.py -p a2a3sim -d 0,1,2,3,4,5,6,7

Made by: allreduce-gen --ranks 8 --size 4096 --algorithm hierarchical
"""

import argparse

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import ir
from pypto.ir.distributed_compiled_program import DistributedConfig

NUM_RANKS = 8
GROUPS = 2
MEMBERS = 4  # ranks in each group
SIZE = 4096
PIECE = 512

# One signal row for each barrier round: slots only ever count up, so a row that
# has let one barrier pass would let the next one pass at once.
ROW_STAGED = 0
ROW_REDUCED = 1
ROW_SHARED = 2
ROW_GATHERED = 3
NUM_ROWS = 4


@pl.program
class AllReduce:
    @pl.function(type=pl.FunctionType.InCore)
    def all_reduce(
        self,
        x: pl.Tensor[[1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
        data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
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

        # Barrier A, then reduce-scatter in the group: add peers' copies of the chunk.
        for step in pl.range(1, MEMBERS):
            peer = group * MEMBERS + (member + step) % MEMBERS
            pld.system.notify(
                signal,
                peer=peer,
                offsets=[ROW_STAGED, my_rank],
                value=1,
                op=pld.NotifyOp.AtomicAdd,
            )
        for step in pl.range(1, MEMBERS):
            peer = group * MEMBERS + (member + step) % MEMBERS
            pld.system.wait(
                signal, offsets=[ROW_STAGED, peer], expected=1, cmp=pld.WaitCmp.Ge
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
        for step in pl.range(1, GROUPS):
            peer = (group + step) % GROUPS * MEMBERS + member
            pld.system.notify(
                signal,
                peer=peer,
                offsets=[ROW_REDUCED, my_rank],
                value=1,
                op=pld.NotifyOp.AtomicAdd,
            )
        for step in pl.range(1, GROUPS):
            peer = (group + step) % GROUPS * MEMBERS + member
            pld.system.wait(
                signal, offsets=[ROW_REDUCED, peer], expected=1, cmp=pld.WaitCmp.Ge
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
        for step in pl.range(1, GROUPS):
            peer = (group + step) % GROUPS * MEMBERS + member
            pld.system.notify(
                signal,
                peer=peer,
                offsets=[ROW_SHARED, my_rank],
                value=1,
                op=pld.NotifyOp.AtomicAdd,
            )
        for step in pl.range(1, GROUPS):
            peer = (group + step) % GROUPS * MEMBERS + member
            pld.system.wait(
                signal, offsets=[ROW_SHARED, peer], expected=1, cmp=pld.WaitCmp.Ge
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
        for step in pl.range(1, MEMBERS):
            peer = group * MEMBERS + (member + step) % MEMBERS
            pld.system.notify(
                signal,
                peer=peer,
                offsets=[ROW_GATHERED, my_rank],
                value=1,
                op=pld.NotifyOp.AtomicAdd,
            )
        for step in pl.range(1, MEMBERS):
            peer = group * MEMBERS + (member + step) % MEMBERS
            pld.system.wait(
                signal, offsets=[ROW_GATHERED, peer], expected=1, cmp=pld.WaitCmp.Ge
            )
        for step in pl.range(1, MEMBERS):
            peer = group * MEMBERS + (member + step) % MEMBERS
            for t in pl.range(GROUPS):
                at = peer % MEMBERS * GROUPS * PIECE + t * PIECE
                reduced = pld.tile.remote_load(
                    data, peer=peer, offsets=[0, at], shape=[1, PIECE]
                )
                data = pl.store(reduced, [0, at], data)

        # Stage out: the data window holds the result.
        total = pl.load(data, [0, 0], [1, SIZE])
        y = pl.store(total, [0, 0], y)
        return y

    @pl.function(type=pl.FunctionType.Orchestration)
    def per_rank(
        self,
        x: pl.Tensor[[1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
        data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[NUM_ROWS, NUM_RANKS], pl.INT32]],
    ) -> pl.Tensor[[1, SIZE], pl.FP32]:
        return self.all_reduce(x, y, data, signal)

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(
        self,
        x: pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP32]],
    ) -> pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP32]:
        data_buf = pld.alloc_window_buffer([1, SIZE], dtype=pl.FP32)
        signal_buf = pld.alloc_window_buffer([NUM_ROWS, NUM_RANKS], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)
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
        "-d", "--device", default="0,1,2,3,4,5,6,7", help="comma-separated ids"
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

    x = torch.randn(NUM_RANKS, 1, SIZE)
    y = torch.zeros_like(x)
    compiled(x, y)
    torch.testing.assert_close(y, x.sum(dim=0).expand_as(y), rtol=1e-5, atol=1e-5)
    print("OK")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
