"""Halving-doubling all-reduce: sum of 4096 FP32 elements over 8 ranks.

Rabenseifner's: pairs exchange halves of the chunks, then halves of these, until each
rank has one chunk reduced; the same pairs backwards gather the chunks again.
c2@1 is chunk 2 of rank 1.

    rank 0   stage | +c0-3@4 | +c0-1@2 | +c0@1 | c1@1 | c2-3@2 | c4-7@4 | out
    rank 1   stage | +c0-3@5 | +c0-1@3 | +c1@0 | c0@0 | c2-3@3 | c4-7@5 | out
    rank 2   stage | +c0-3@6 | +c2-3@0 | +c2@3 | c3@3 | c0-1@0 | c4-7@6 | out
    rank 3   stage | +c0-3@7 | +c2-3@1 | +c3@2 | c2@2 | c0-1@1 | c4-7@7 | out
    rank 4   stage | +c4-7@0 | +c4-5@6 | +c4@5 | c5@5 | c6-7@6 | c0-3@0 | out
    rank 5   stage | +c4-7@1 | +c4-5@7 | +c5@4 | c4@4 | c6-7@7 | c0-3@1 | out
    rank 6   stage | +c4-7@2 | +c6-7@4 | +c6@7 | c7@7 | c4-5@4 | c0-3@2 | out
    rank 7   stage | +c4-7@3 | +c6-7@5 | +c7@6 | c6@6 | c4-5@5 | c0-3@3 | out

Cost per rank
    remote reads     28672 B   1.000 x the bound 2(P-1)/P, 0.250 x mesh
    wait rounds          6     6 notifies, 6 waits
    windows          16384 B   data
    on-chip buffer   18432 B   of 188416 B

Every rank gets the same bits: all chunks are combined alike, ranks P/2 apart first,
then half of that, and so on:

    ((x0 + x4) + (x2 + x6)) + ((x1 + x5) + (x3 + x7))

Run it where pypto is installed:

    python halving_doubling_p8_n4096_fp32.py -p a2a3sim -d 0,1,2,3,4,5,6,7

Made by: allreduce-gen --ranks 8 --size 4096 --algorithm halving_doubling
"""

import argparse

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import ir
from pypto.ir.distributed_compiled_program import DistributedConfig

NUM_RANKS = 8
SIZE = 4096
CHUNK = 512
ROUNDS = 3

# A row serves all its rounds: rank r raises slot r of a peer, no slot twice a call.
ROW_HALVE = 0
ROW_DOUBLE = 1
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

        # Stage in: partners read from the data window.
        staged = pl.load(x, [0, 0], [1, SIZE])
        data = pl.store(staged, [0, 0], data)

        # Reduce-scatter: add the partner's copy of the half with this rank's chunk.
        for step in pl.range(ROUNDS):
            distance = NUM_RANKS >> (step + 1)
            bit = my_rank // distance % 2
            partner = my_rank + distance - 2 * distance * bit
            start = my_rank // distance * distance * CHUNK
            pld.system.notify(
                signal,
                peer=partner,
                offsets=[ROW_HALVE, my_rank],
                value=1,
                op=pld.NotifyOp.AtomicAdd,
            )
            pld.system.wait(
                signal, offsets=[ROW_HALVE, partner], expected=1, cmp=pld.WaitCmp.Ge
            )
            for t in pl.range(distance):
                at = start + t * CHUNK
                acc = pl.load(data, [0, at], [1, CHUNK])
                contribution = pld.tile.remote_load(
                    data, peer=partner, offsets=[0, at], shape=[1, CHUNK]
                )
                acc = pl.add(acc, contribution)
                data = pl.store(acc, [0, at], data)

        # All-gather: take over what the partner has, which is as much again.
        for step in pl.range(ROUNDS):
            distance = 1 << step
            bit = my_rank // distance % 2
            partner = my_rank + distance - 2 * distance * bit
            start = partner // distance * distance * CHUNK
            pld.system.notify(
                signal,
                peer=partner,
                offsets=[ROW_DOUBLE, my_rank],
                value=1,
                op=pld.NotifyOp.AtomicAdd,
            )
            pld.system.wait(
                signal, offsets=[ROW_DOUBLE, partner], expected=1, cmp=pld.WaitCmp.Ge
            )
            for t in pl.range(distance):
                at = start + t * CHUNK
                reduced = pld.tile.remote_load(
                    data, peer=partner, offsets=[0, at], shape=[1, CHUNK]
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
