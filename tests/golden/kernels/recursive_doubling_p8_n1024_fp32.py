"""Recursive-doubling all-reduce: sum of 1024 FP32 elements over 8 ranks.

In round k, ranks whose numbers differ in bit k exchange all they have.

    rank 0   stage | +1 | +2 | +4 | out
    rank 1   stage | +0 | +3 | +5 | out
    rank 2   stage | +3 | +0 | +6 | out
    rank 3   stage | +2 | +1 | +7 | out
    rank 4   stage | +5 | +6 | +0 | out
    rank 5   stage | +4 | +7 | +1 | out
    rank 6   stage | +7 | +4 | +2 | out
    rank 7   stage | +6 | +5 | +3 | out

Each round writes a vector of its own: a partner may still be reading the last one.

Cost per rank
    remote reads     12288 B   1.714 x the bound 2(P-1)/P, 0.429 x mesh
    wait rounds          3     3 notifies, 3 waits
    windows          16384 B   data
    on-chip buffer    8192 B   of 188416 B

Every rank gets the same bits: all combine alike, neighbours first, then pairs of them,
and so on:

    ((x0 + x1) + (x2 + x3)) + ((x4 + x5) + (x6 + x7))

Run it where pypto is installed:

    python recursive_doubling_p8_n1024_fp32.py -p a2a3sim -d 0,1,2,3,4,5,6,7

Made by: allreduce-gen --ranks 8 --size 1024 --algorithm recursive_doubling
"""

import argparse

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import ir
from pypto.ir.distributed_compiled_program import DistributedConfig

NUM_RANKS = 8
SIZE = 1024
ROUNDS = 3
VECTORS = 4  # the input, and one for each round's result

# One row serves all rounds: rank r raises slot r of a peer, no slot twice a call.
ROW_PAIRED = 0
NUM_ROWS = 1


@pl.program
class AllReduce:
    @pl.function(type=pl.FunctionType.InCore)
    def all_reduce(
        self,
        x: pl.Tensor[[1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
        data: pl.InOut[pld.DistributedTensor[[VECTORS, SIZE], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[NUM_ROWS, NUM_RANKS], pl.INT32]],
    ) -> pl.Tensor[[1, SIZE], pl.FP32]:
        ctx = pld.get_comm_ctx(data)
        my_rank = pld.rank(ctx)

        # Stage in: the first partner reads from the data window.
        staged = pl.load(x, [0, 0], [1, SIZE])
        data = pl.store(staged, [0, 0], data)

        # Exchange: in each round with the rank whose number differs in one bit.
        for step in pl.range(ROUNDS):
            distance = 1 << step
            bit = my_rank // distance % 2
            lower = my_rank - distance * bit
            upper = lower + distance
            partner = lower + upper - my_rank
            pld.system.notify(
                signal,
                peer=partner,
                offsets=[ROW_PAIRED, my_rank],
                value=1,
                op=pld.NotifyOp.AtomicAdd,
            )
            pld.system.wait(
                signal, offsets=[ROW_PAIRED, partner], expected=1, cmp=pld.WaitCmp.Ge
            )
            first = pld.tile.remote_load(
                data, peer=lower, offsets=[step, 0], shape=[1, SIZE]
            )
            second = pld.tile.remote_load(
                data, peer=upper, offsets=[step, 0], shape=[1, SIZE]
            )
            acc = pl.add(first, second)
            data = pl.store(acc, [step + 1, 0], data)

        # Stage out: the data window holds the result.
        total = pl.load(data, [ROUNDS, 0], [1, SIZE])
        y = pl.store(total, [0, 0], y)
        return y

    @pl.function(type=pl.FunctionType.Orchestration)
    def per_rank(
        self,
        x: pl.Tensor[[1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
        data: pl.InOut[pld.DistributedTensor[[VECTORS, SIZE], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[NUM_ROWS, NUM_RANKS], pl.INT32]],
    ) -> pl.Tensor[[1, SIZE], pl.FP32]:
        return self.all_reduce(x, y, data, signal)

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(
        self,
        x: pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP32]],
    ) -> pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP32]:
        data_buf = pld.alloc_window_buffer([VECTORS, SIZE], dtype=pl.FP32)
        signal_buf = pld.alloc_window_buffer([NUM_ROWS, NUM_RANKS], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            data = pld.window(data_buf, [VECTORS, SIZE], dtype=pl.FP32)
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
