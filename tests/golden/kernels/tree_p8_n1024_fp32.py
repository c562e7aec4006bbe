"""Tree all-reduce: sum of 1024 FP32 elements over 8 ranks.

A binomial tree: partial results go to rank 0, and the result comes back the same way.

    rank 0   stage | +1 2 4 | to 4 2 1 | out
    rank 1   stage | to 0 | from 0 | out
    rank 2   stage | +3 | to 0 | from 0 | to 3 | out
    rank 3   stage | to 2 | from 2 | out
    rank 4   stage | +5 6 | to 0 | from 0 | to 6 5 | out
    rank 5   stage | to 4 | from 4 | out
    rank 6   stage | +7 | to 4 | from 4 | to 7 | out
    rank 7   stage | to 6 | from 6 | out

Cost per rank
    remote reads     12288 B   1.714 x the bound 2(P-1)/P, 0.429 x mesh
    all ranks        57344 B   the above is the busiest rank's share
    wait rounds          3     3 notifies, 3 waits
    windows           4096 B   data
    on-chip buffer    8192 B   of 188416 B

Every rank gets the same bits: all get what rank 0 has; neighbours are combined first,
then pairs of them, and so on:

    ((x0 + x1) + (x2 + x3)) + ((x4 + x5) + (x6 + x7))

Run it where pypto is installed:

    python tree_p8_n1024_fp32.py -p a2a3sim -d 0,1,2,3,4,5,6,7

Made by: allreduce-gen --ranks 8 --size 1024 --algorithm tree
"""

import argparse

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import ir
from pypto.ir.distributed_compiled_program import DistributedConfig

NUM_RANKS = 8
SIZE = 1024
ROUNDS = 3

# A row serves all its rounds: rank r raises slot r of a peer, no slot twice a call.
ROW_REDUCE = 0
ROW_BROADCAST = 1
NUM_ROWS = 2


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

        # Stage in: the parent reads from the data window.
        staged = pl.load(x, [0, 0], [1, SIZE])
        data = pl.store(staged, [0, 0], data)

        # Reduce: each parent adds what its child has, nearest child first.
        for step in pl.range(ROUNDS):
            distance = 1 << step
            place = my_rank % (2 * distance)
            if place == distance:
                pld.system.notify(
                    signal,
                    peer=my_rank - distance,
                    offsets=[ROW_REDUCE, my_rank],
                    value=1,
                    op=pld.NotifyOp.AtomicAdd,
                )
            if place == 0:
                pld.system.wait(
                    signal,
                    offsets=[ROW_REDUCE, my_rank + distance],
                    expected=1,
                    cmp=pld.WaitCmp.Ge,
                )
                acc = pl.load(data, [0, 0], [1, SIZE])
                contribution = pld.tile.remote_load(
                    data, peer=my_rank + distance, offsets=[0, 0], shape=[1, SIZE]
                )
                acc = pl.add(acc, contribution)
                data = pl.store(acc, [0, 0], data)

        # Broadcast: each child takes over its parent's result, farthest child first.
        for step in pl.range(ROUNDS):
            distance = 1 << (ROUNDS - 1 - step)
            place = my_rank % (2 * distance)
            if place == distance:
                pld.system.wait(
                    signal,
                    offsets=[ROW_BROADCAST, my_rank - distance],
                    expected=1,
                    cmp=pld.WaitCmp.Ge,
                )
                result = pld.tile.remote_load(
                    data, peer=my_rank - distance, offsets=[0, 0], shape=[1, SIZE]
                )
                data = pl.store(result, [0, 0], data)
            if place == 0:
                pld.system.notify(
                    signal,
                    peer=my_rank + distance,
                    offsets=[ROW_BROADCAST, my_rank],
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
