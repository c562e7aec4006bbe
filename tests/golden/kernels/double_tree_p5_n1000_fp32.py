"""Double-tree all-reduce: sum of 1000 FP32 elements over 5 ranks.

Two binary trees, each for one half of the vector: whoever has children in one is a leaf
of the other. Partial results go to the roots, and the results come back.

    rank 0   stage | lower +4 | upper to 1 | out
    rank 1   stage | lower to 2 | upper +0 2 to 3 | out
    rank 2   stage | lower +1 3 to 4 | upper to 1 | out
    rank 3   stage | lower to 2 | upper +1 to 4 | out
    rank 4   stage | lower +2 to 0 | upper +3 | out

Each half goes in 4 blocks, one after another, so that levels work at the same time.

Cost per rank
    remote reads      8192 B   1.280 x the bound 2(P-1)/P, 0.512 x mesh
    all ranks        32768 B   the above is the busiest rank's share
    wait rounds         16     16 notifies, 16 waits
    windows           4096 B   data
    on-chip buffer    4512 B   of 188416 B

Every rank gets the same bits: the roots combine last, and each parent adds its nearer
child first, the left one if both are as near:

    lower half: x0 + (x4 + (x2 + x1 + x3))
    upper half: x4 + (x3 + (x1 + x0 + x2))

Run it where pypto is installed:

    python double_tree_p5_n1000_fp32.py -p a2a3sim -d 0,1,2,3,4

Made by: allreduce-gen --ranks 5 --size 1000 --algorithm double_tree
"""

import argparse

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import ir
from pypto.ir.distributed_compiled_program import DistributedConfig

NUM_RANKS = 5
SIZE = 1000
BLOCK = 128
PADDED = 1024  # elements of a window: every block whole
BLOCKS = 4  # blocks of each half
ROUNDS = 3  # levels below a root

# A signal row for each block of each tree, the first of each way named here: in it
# rank r raises slot r of a peer, and no slot twice in a call.
ROW_REDUCE = 0
ROW_BROADCAST = 8
NUM_ROWS = 16


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

        # Stage in: parents read from the data window.
        staged = pl.load(x, [0, 0], [1, SIZE])
        data = pl.store(staged, [0, 0], data)

        # Reduce: a rank whose place is an odd multiple of `distance` is a child: its
        # parent is `distance` further on if that place exists and is an odd multiple of
        # 2 * `distance`, otherwise `distance` back. So a parent has its left child
        # where `odd` is 1, and its right one (`is_parent`) where `odd` is 1 or nobody
        # is 2 * `distance` on. It adds what they have.
        for block in pl.range(BLOCKS):
            for tree in pl.range(2):
                place = (my_rank + tree) % NUM_RANKS
                shift = (NUM_RANKS - 1) * tree
                part = tree * BLOCKS + block
                start = part * BLOCK
                for step in pl.range(ROUNDS):
                    distance = 1 << step
                    odd = place // (2 * distance) % 2
                    if place % (2 * distance) == distance:
                        back = pl.min(1, odd + (place + distance) // NUM_RANKS)
                        above = place + distance - 2 * distance * back
                        parent = (above + shift) % NUM_RANKS
                        pld.system.notify(
                            signal,
                            peer=parent,
                            offsets=[ROW_REDUCE + part, my_rank],
                            value=1,
                            op=pld.NotifyOp.AtomicAdd,
                        )
                    if place % (2 * distance) == 0:
                        if odd == 1:
                            left = (place - distance + shift) % NUM_RANKS
                            pld.system.wait(
                                signal,
                                offsets=[ROW_REDUCE + part, left],
                                expected=1,
                                cmp=pld.WaitCmp.Ge,
                            )
                            acc = pl.load(data, [0, start], [1, BLOCK])
                            contribution = pld.tile.remote_load(
                                data, peer=left, offsets=[0, start], shape=[1, BLOCK]
                            )
                            acc = pl.add(acc, contribution)
                            data = pl.store(acc, [0, start], data)
                        if place + distance < NUM_RANKS:
                            is_parent = pl.min(
                                1, odd + (place + 2 * distance) // NUM_RANKS
                            )
                            if is_parent == 1:
                                right = (place + distance + shift) % NUM_RANKS
                                pld.system.wait(
                                    signal,
                                    offsets=[ROW_REDUCE + part, right],
                                    expected=1,
                                    cmp=pld.WaitCmp.Ge,
                                )
                                acc = pl.load(data, [0, start], [1, BLOCK])
                                contribution = pld.tile.remote_load(
                                    data,
                                    peer=right,
                                    offsets=[0, start],
                                    shape=[1, BLOCK],
                                )
                                acc = pl.add(acc, contribution)
                                data = pl.store(acc, [0, start], data)

        # Broadcast: the same way back. Children take over the result.
        for block in pl.range(BLOCKS):
            for tree in pl.range(2):
                place = (my_rank + tree) % NUM_RANKS
                shift = (NUM_RANKS - 1) * tree
                part = tree * BLOCKS + block
                start = part * BLOCK
                for step in pl.range(ROUNDS):
                    distance = 1 << (ROUNDS - 1 - step)
                    odd = place // (2 * distance) % 2
                    if place % (2 * distance) == distance:
                        back = pl.min(1, odd + (place + distance) // NUM_RANKS)
                        above = place + distance - 2 * distance * back
                        parent = (above + shift) % NUM_RANKS
                        pld.system.wait(
                            signal,
                            offsets=[ROW_BROADCAST + part, parent],
                            expected=1,
                            cmp=pld.WaitCmp.Ge,
                        )
                        result = pld.tile.remote_load(
                            data, peer=parent, offsets=[0, start], shape=[1, BLOCK]
                        )
                        data = pl.store(result, [0, start], data)
                    if place % (2 * distance) == 0:
                        if odd == 1:
                            left = (place - distance + shift) % NUM_RANKS
                            pld.system.notify(
                                signal,
                                peer=left,
                                offsets=[ROW_BROADCAST + part, my_rank],
                                value=1,
                                op=pld.NotifyOp.AtomicAdd,
                            )
                        if place + distance < NUM_RANKS:
                            is_parent = pl.min(
                                1, odd + (place + 2 * distance) // NUM_RANKS
                            )
                            if is_parent == 1:
                                right = (place + distance + shift) % NUM_RANKS
                                pld.system.notify(
                                    signal,
                                    peer=right,
                                    offsets=[ROW_BROADCAST + part, my_rank],
                                    value=1,
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
        "-d", "--device", default="0,1,2,3,4", help="comma-separated ids"
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
