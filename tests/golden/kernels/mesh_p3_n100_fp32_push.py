"""Mesh all-reduce: sum of 100 FP32 elements over 3 ranks.

One round: every rank writes its elements into a row of its own in everybody's window,
then adds the rows of its own window.

    rank 0   to row 0 of 0 1 2 | A | +rows 0 1 2
    rank 1   to row 1 of 1 2 0 | A | +rows 0 1 2
    rank 2   to row 2 of 2 0 1 | A | +rows 0 1 2

A: all rows are filled (signal row 0).

Cost per rank
    remote writes      800 B   1.500 x the bound 2(P-1)/P, 1.000 x mesh
    all ranks         2400 B   the above is each rank's share
    barrier rounds       1     2 notifies, 2 waits
    windows           1248 B   inputs
    on-chip buffer     832 B   of 188416 B

Every rank gets the same bits: all combine in the order of the ranks, 0 first.

Run it where pypto is installed:

    python mesh_p3_n100_fp32_push.py -p a2a3sim -d 0,1,2

Made by: allreduce-gen --ranks 3 --size 100 --algorithm mesh --transfer push
"""

import argparse

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import ir
from pypto.ir.distributed_compiled_program import DistributedConfig

NUM_RANKS = 3
SIZE = 100
PADDED = 104  # elements of a window's row: whole 32-byte blocks

# One signal row: there is one barrier.
ROW_STAGED = 0
NUM_ROWS = 1


@pl.program
class AllReduce:
    @pl.function(type=pl.FunctionType.InCore)
    def all_reduce(
        self,
        x: pl.Tensor[[1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
        inputs: pl.InOut[pld.DistributedTensor[[NUM_RANKS, PADDED], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[NUM_ROWS, NUM_RANKS], pl.INT32]],
    ) -> pl.Tensor[[1, SIZE], pl.FP32]:
        ctx = pld.get_comm_ctx(inputs)
        my_rank = pld.rank(ctx)

        # Push: write this rank's elements into its row on every rank, itself included.
        piece = pl.load(x, [0, 0], [1, PADDED], valid_shape=[1, SIZE])
        for step in pl.range(NUM_RANKS):
            peer = (my_rank + step) % NUM_RANKS
            pld.tile.remote_store(piece, inputs, peer=peer, offsets=[my_rank, 0])

        # Barrier A: all rows are filled.
        for step in pl.range(1, NUM_RANKS):
            peer = (my_rank + step) % NUM_RANKS
            pld.system.notify(
                signal,
                peer=peer,
                offsets=[ROW_STAGED, my_rank],
                value=1,
                op=pld.NotifyOp.AtomicAdd,
            )
        for step in pl.range(1, NUM_RANKS):
            peer = (my_rank + step) % NUM_RANKS
            pld.system.wait(
                signal, offsets=[ROW_STAGED, peer], expected=1, cmp=pld.WaitCmp.Ge
            )

        # Combine the rows, in the order of the ranks.
        acc = pl.load(inputs, [0, 0], [1, PADDED])
        for peer in pl.range(1, NUM_RANKS):
            contribution = pl.load(inputs, [peer, 0], [1, PADDED])
            acc = pl.add(acc, contribution)
        cut = pl.set_validshape(acc, 1, SIZE)
        y = pl.store(cut, [0, 0], y)
        return y

    @pl.function(type=pl.FunctionType.Orchestration)
    def per_rank(
        self,
        x: pl.Tensor[[1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
        inputs: pl.InOut[pld.DistributedTensor[[NUM_RANKS, PADDED], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[NUM_ROWS, NUM_RANKS], pl.INT32]],
    ) -> pl.Tensor[[1, SIZE], pl.FP32]:
        return self.all_reduce(x, y, inputs, signal)

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(
        self,
        x: pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP32]],
    ) -> pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP32]:
        inputs_buf = pld.alloc_window_buffer([NUM_RANKS, PADDED], dtype=pl.FP32)
        signal_buf = pld.alloc_window_buffer([NUM_ROWS, NUM_RANKS], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            inputs = pld.window(inputs_buf, [NUM_RANKS, PADDED], dtype=pl.FP32)
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
    parser.add_argument("-d", "--device", default="0,1,2", help="comma-separated ids")
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
