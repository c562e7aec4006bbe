"""Dissemination all-reduce: sum of 4096 FP32 elements over 4 ranks.

In each round a rank copies from one other rank the vectors it lacks, up to as many as
it has; at the end it adds all vectors, v0 first.

    rank 0   stage | v1 from 1 | v2 v3 from 2 | +v0 v1 v2 v3
    rank 1   stage | v2 from 2 | v3 v0 from 3 | +v0 v1 v2 v3
    rank 2   stage | v3 from 3 | v0 v1 from 0 | +v0 v1 v2 v3
    rank 3   stage | v0 from 0 | v1 v2 from 1 | +v0 v1 v2 v3

Cost per rank
    remote reads     49152 B   2.000 x the bound 2(P-1)/P, 1.000 x mesh
    wait rounds          2     2 notifies, 2 waits
    windows          65536 B   inputs
    on-chip buffer   32768 B   of 188416 B

Every rank gets the same bits: all combine in the order of the ranks, 0 first.

Run it where pypto is installed:

    python dissemination_p4_n4096_fp32.py -p a2a3sim -d 0,1,2,3

Made by: allreduce-gen --ranks 4 --size 4096 --algorithm dissemination
"""

import argparse

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import ir
from pypto.ir.distributed_compiled_program import DistributedConfig

NUM_RANKS = 4
SIZE = 4096
ROUNDS = 2

# One row serves all rounds: rank r raises slot r of a peer, no slot twice a call.
ROW_GATHER = 0
NUM_ROWS = 1


@pl.program
class AllReduce:
    @pl.function(type=pl.FunctionType.InCore)
    def all_reduce(
        self,
        x: pl.Tensor[[1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
        inputs: pl.InOut[pld.DistributedTensor[[NUM_RANKS, SIZE], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[NUM_ROWS, NUM_RANKS], pl.INT32]],
    ) -> pl.Tensor[[1, SIZE], pl.FP32]:
        ctx = pld.get_comm_ctx(inputs)
        my_rank = pld.rank(ctx)

        # Stage in: row r of the window is for the elements of rank r.
        staged = pl.load(x, [0, 0], [1, SIZE])
        inputs = pl.store(staged, [my_rank, 0], inputs)

        # All-gather: take over the vectors that the rank `reach` further on has.
        for step in pl.range(ROUNDS):
            reach = 1 << step
            count = pl.min(reach, NUM_RANKS - reach)
            ahead = (my_rank + reach) % NUM_RANKS
            behind = (my_rank + (NUM_RANKS - 1) * reach) % NUM_RANKS
            pld.system.notify(
                signal,
                peer=behind,
                offsets=[ROW_GATHER, my_rank],
                value=1,
                op=pld.NotifyOp.AtomicAdd,
            )
            pld.system.wait(
                signal, offsets=[ROW_GATHER, ahead], expected=1, cmp=pld.WaitCmp.Ge
            )
            for index in pl.range(count):
                owner = (ahead + index) % NUM_RANKS
                vector = pld.tile.remote_load(
                    inputs, peer=ahead, offsets=[owner, 0], shape=[1, SIZE]
                )
                inputs = pl.store(vector, [owner, 0], inputs)

        # Combine the rows, in the order of the ranks.
        acc = pl.load(inputs, [0, 0], [1, SIZE])
        for peer in pl.range(1, NUM_RANKS):
            contribution = pl.load(inputs, [peer, 0], [1, SIZE])
            acc = pl.add(acc, contribution)
        y = pl.store(acc, [0, 0], y)
        return y

    @pl.function(type=pl.FunctionType.Orchestration)
    def per_rank(
        self,
        x: pl.Tensor[[1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
        inputs: pl.InOut[pld.DistributedTensor[[NUM_RANKS, SIZE], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[NUM_ROWS, NUM_RANKS], pl.INT32]],
    ) -> pl.Tensor[[1, SIZE], pl.FP32]:
        return self.all_reduce(x, y, inputs, signal)

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(
        self,
        x: pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP32]],
    ) -> pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP32]:
        inputs_buf = pld.alloc_window_buffer([NUM_RANKS, SIZE], dtype=pl.FP32)
        signal_buf = pld.alloc_window_buffer([NUM_ROWS, NUM_RANKS], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            inputs = pld.window(inputs_buf, [NUM_RANKS, SIZE], dtype=pl.FP32)
            signal = pld.window(signal_buf, [NUM_ROWS, NUM_RANKS], dtype=pl.INT32)
            self.per_rank(x[r], y[r], inputs, signal, device=r)
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
    parser.add_argument("-d", "--device", default="0,1,2,3", help="comma-separated ids")
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
