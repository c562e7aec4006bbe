"""Mesh all-reduce: sum of 65537 BF16 elements over 5 ranks.

One round: every rank reads everybody's elements and adds them.

    rank 0   stage | A | +all of 0 1 2 3 4 | B
    rank 1   stage | A | +all of 0 1 2 3 4 | B
    rank 2   stage | A | +all of 0 1 2 3 4 | B
    rank 3   stage | A | +all of 0 1 2 3 4 | B
    rank 4   stage | A | +all of 0 1 2 3 4 | B

A: all inputs are staged (signal row 0).
B: all inputs are read, so the next call may stage its own (signal row 1).

Cost per rank
    remote reads    524800 B   2.502 x the bound 2(P-1)/P, 1.000 x mesh
    all ranks      2624000 B   the above is each rank's share
    barrier rounds       2     8 notifies, 8 waits
    windows         131200 B   data
    on-chip buffer  131200 B   of 188416 B

Every rank gets the same bits: all combine in the order of the ranks, 0 first, in FP32,
and the result is rounded once.

Windows may persist between calls: slots only grow, and the k-th call, counted from 1,
passes epoch=k and waits for k.

Run it where pypto is installed:

    python mesh_p5_n65537_bf16_epoch.py -p a2a3sim -d 0,1,2,3,4

Made by: allreduce-gen --ranks 5 --size 65537 --algorithm mesh --dtype bf16 \
    --reuse epoch
"""

import argparse

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import ir
from pypto.ir.distributed_compiled_program import DistributedConfig

NUM_RANKS = 5
SIZE = 65537
PADDED = 65600  # elements of a window's row: every tile whole
TILE = 13120  # most elements in one load or store
STAGE_TILES = 4  # full tiles in SIZE
STAGE_TAIL = 13057  # elements of SIZE after its full tiles

# One signal row for each barrier round: slots only ever count up, so a row that
# has let one barrier pass would let the next one pass at once.
ROW_STAGED = 0
ROW_DONE = 1
NUM_ROWS = 2


@pl.program
class AllReduce:
    @pl.function(type=pl.FunctionType.InCore)
    def all_reduce(
        self,
        x: pl.Tensor[[1, SIZE], pl.BF16],
        y: pl.Out[pl.Tensor[[1, SIZE], pl.BF16]],
        data: pl.InOut[pld.DistributedTensor[[1, PADDED], pl.BF16]],
        signal: pl.InOut[pld.DistributedTensor[[NUM_ROWS, NUM_RANKS], pl.INT32]],
        epoch: pl.Scalar[pl.INT32],
    ) -> pl.Tensor[[1, SIZE], pl.BF16]:
        ctx = pld.get_comm_ctx(data)
        my_rank = pld.rank(ctx)

        # Stage in: peers may read this rank's input from its data window.
        for t in pl.range(STAGE_TILES):
            at = t * TILE
            staged = pl.load(x, [0, at], [1, TILE])
            data = pl.store(staged, [0, at], data)
        at = STAGE_TILES * TILE
        staged_tail = pl.load(x, [0, at], [1, TILE], valid_shape=[1, STAGE_TAIL])
        data = pl.store(staged_tail, [0, at], data)

        # Barrier A: all inputs are staged.
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
                signal, offsets=[ROW_STAGED, peer], expected=epoch, cmp=pld.WaitCmp.Ge
            )

        # Combine everybody's elements, this rank's included, in the order of the ranks.
        for t in pl.range(STAGE_TILES):
            at = t * TILE
            own = pld.tile.remote_load(
                data, peer=pl.const(0, pl.INT32), offsets=[0, at], shape=[1, TILE]
            )
            acc = pl.cast(own, pl.FP32)
            for peer in pl.range(1, NUM_RANKS):
                contribution = pld.tile.remote_load(
                    data, peer=peer, offsets=[0, at], shape=[1, TILE]
                )
                wide = pl.cast(contribution, pl.FP32)
                acc = pl.add(acc, wide)
            narrow = pl.cast(acc, pl.BF16, mode="rint")
            y = pl.store(narrow, [0, at], y)
        at = STAGE_TILES * TILE
        own_tail = pld.tile.remote_load(
            data, peer=pl.const(0, pl.INT32), offsets=[0, at], shape=[1, TILE]
        )
        acc_tail = pl.cast(own_tail, pl.FP32)
        for peer in pl.range(1, NUM_RANKS):
            contribution_tail = pld.tile.remote_load(
                data, peer=peer, offsets=[0, at], shape=[1, TILE]
            )
            wide_tail = pl.cast(contribution_tail, pl.FP32)
            acc_tail = pl.add(acc_tail, wide_tail)
        narrow_tail = pl.cast(acc_tail, pl.BF16, mode="rint")
        cut_tail = pl.set_validshape(narrow_tail, 1, STAGE_TAIL)
        y = pl.store(cut_tail, [0, at], y)

        # Barrier B: everybody is done, so the windows may be written again.
        for step in pl.range(1, NUM_RANKS):
            peer = (my_rank + step) % NUM_RANKS
            pld.system.notify(
                signal,
                peer=peer,
                offsets=[ROW_DONE, my_rank],
                value=1,
                op=pld.NotifyOp.AtomicAdd,
            )
        for step in pl.range(1, NUM_RANKS):
            peer = (my_rank + step) % NUM_RANKS
            pld.system.wait(
                signal, offsets=[ROW_DONE, peer], expected=epoch, cmp=pld.WaitCmp.Ge
            )
        return y

    @pl.function(type=pl.FunctionType.Orchestration)
    def per_rank(
        self,
        x: pl.Tensor[[1, SIZE], pl.BF16],
        y: pl.Out[pl.Tensor[[1, SIZE], pl.BF16]],
        data: pl.InOut[pld.DistributedTensor[[1, PADDED], pl.BF16]],
        signal: pl.InOut[pld.DistributedTensor[[NUM_ROWS, NUM_RANKS], pl.INT32]],
        epoch: pl.Scalar[pl.INT32],
    ) -> pl.Tensor[[1, SIZE], pl.BF16]:
        return self.all_reduce(x, y, data, signal, epoch)

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(
        self,
        x: pl.Tensor[[NUM_RANKS, 1, SIZE], pl.BF16],
        y: pl.Out[pl.Tensor[[NUM_RANKS, 1, SIZE], pl.BF16]],
        epoch: pl.Scalar[pl.INT32],
    ) -> pl.Tensor[[NUM_RANKS, 1, SIZE], pl.BF16]:
        data_buf = pld.alloc_window_buffer([1, PADDED], dtype=pl.BF16)
        signal_buf = pld.alloc_window_buffer([NUM_ROWS, NUM_RANKS], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            data = pld.window(data_buf, [1, PADDED], dtype=pl.BF16)
            signal = pld.window(signal_buf, [NUM_ROWS, NUM_RANKS], dtype=pl.INT32)
            self.per_rank(x[r], y[r], data, signal, epoch, device=r)
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

    x = torch.randn(NUM_RANKS, 1, SIZE).to(torch.bfloat16).share_memory_()
    y = torch.zeros_like(x).share_memory_()
    with compiled.prepare(persistent=True, reset_persistent_windows=False) as run:
        for call in range(1, 4):
            x.copy_(torch.randn(NUM_RANKS, 1, SIZE).to(torch.bfloat16))
            run(x, y, call)
            torch.testing.assert_close(
                y, x.float().sum(dim=0).to(x.dtype).expand_as(y), rtol=1e-2, atol=1e-2
            )
    print("OK")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
