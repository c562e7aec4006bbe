"""Dissemination all-reduce: sum of 18 BF16 elements over 5 ranks.

In each round a rank copies from one other rank the vectors it lacks, up to as many as
it has; at the end it adds all vectors, v0 first.

    rank 0   stage | v1 from 1 | v2 v3 from 2 | v4 from 4 | +v0 v1 v2 v3 v4
    rank 1   stage | v2 from 2 | v3 v4 from 3 | v0 from 0 | +v0 v1 v2 v3 v4
    rank 2   stage | v3 from 3 | v4 v0 from 4 | v1 from 1 | +v0 v1 v2 v3 v4
    rank 3   stage | v4 from 4 | v0 v1 from 0 | v2 from 2 | +v0 v1 v2 v3 v4
    rank 4   stage | v0 from 0 | v1 v2 from 1 | v3 from 3 | +v0 v1 v2 v3 v4

Cost per rank
    remote reads       256 B   4.444 x the bound 2(P-1)/P, 1.000 x mesh
    all ranks         1280 B   the above is each rank's share
    wait rounds          3     3 notifies, 3 waits
    windows            320 B   inputs
    on-chip buffer     320 B   of 188416 B

Every rank gets the same bits: all combine in the order of the ranks, 0 first, in FP32,
and the result is rounded once.

Run it where pypto is installed:

    python dissemination_p5_n18_bf16.py -p a2a3sim -d 0,1,2,3,4

Made by: allreduce-gen --ranks 5 --size 18 --algorithm dissemination --dtype bf16
"""

import argparse

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import ir
from pypto.ir.distributed_compiled_program import DistributedConfig

NUM_RANKS = 5
SIZE = 18
PADDED = 32  # elements of a window's row: whole 32-byte blocks
ROUNDS = 3

# One row serves all rounds: rank r raises slot r of a peer, no slot twice a call.
ROW_GATHER = 0
NUM_ROWS = 1


@pl.program
class AllReduce:
    @pl.function(type=pl.FunctionType.InCore)
    def all_reduce(
        self,
        x: pl.Tensor[[1, SIZE], pl.BF16],
        y: pl.Out[pl.Tensor[[1, SIZE], pl.BF16]],
        inputs: pl.InOut[pld.DistributedTensor[[NUM_RANKS, PADDED], pl.BF16]],
        signal: pl.InOut[pld.DistributedTensor[[NUM_ROWS, NUM_RANKS], pl.INT32]],
    ) -> pl.Tensor[[1, SIZE], pl.BF16]:
        ctx = pld.get_comm_ctx(inputs)
        my_rank = pld.rank(ctx)

        # Stage in: row r of the window is for the elements of rank r.
        staged = pl.load(x, [0, 0], [1, PADDED], valid_shape=[1, SIZE])
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
                    inputs, peer=ahead, offsets=[owner, 0], shape=[1, PADDED]
                )
                inputs = pl.store(vector, [owner, 0], inputs)

        # Combine the rows, in the order of the ranks.
        own = pl.load(inputs, [0, 0], [1, PADDED])
        acc = pl.cast(own, pl.FP32)
        for peer in pl.range(1, NUM_RANKS):
            contribution = pl.load(inputs, [peer, 0], [1, PADDED])
            wide = pl.cast(contribution, pl.FP32)
            acc = pl.add(acc, wide)
        narrow = pl.cast(acc, pl.BF16, mode="rint")
        cut = pl.set_validshape(narrow, 1, SIZE)
        y = pl.store(cut, [0, 0], y)
        return y

    @pl.function(type=pl.FunctionType.Orchestration)
    def per_rank(
        self,
        x: pl.Tensor[[1, SIZE], pl.BF16],
        y: pl.Out[pl.Tensor[[1, SIZE], pl.BF16]],
        inputs: pl.InOut[pld.DistributedTensor[[NUM_RANKS, PADDED], pl.BF16]],
        signal: pl.InOut[pld.DistributedTensor[[NUM_ROWS, NUM_RANKS], pl.INT32]],
    ) -> pl.Tensor[[1, SIZE], pl.BF16]:
        return self.all_reduce(x, y, inputs, signal)

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(
        self,
        x: pl.Tensor[[NUM_RANKS, 1, SIZE], pl.BF16],
        y: pl.Out[pl.Tensor[[NUM_RANKS, 1, SIZE], pl.BF16]],
    ) -> pl.Tensor[[NUM_RANKS, 1, SIZE], pl.BF16]:
        inputs_buf = pld.alloc_window_buffer([NUM_RANKS, PADDED], dtype=pl.BF16)
        signal_buf = pld.alloc_window_buffer([NUM_ROWS, NUM_RANKS], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            inputs = pld.window(inputs_buf, [NUM_RANKS, PADDED], dtype=pl.BF16)
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

    x = torch.randn(NUM_RANKS, 1, SIZE).to(torch.bfloat16)
    y = torch.zeros_like(x)
    compiled(x, y)
    torch.testing.assert_close(
        y, x.float().sum(dim=0).to(x.dtype).expand_as(y), rtol=1e-2, atol=1e-2
    )
    print("OK")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
