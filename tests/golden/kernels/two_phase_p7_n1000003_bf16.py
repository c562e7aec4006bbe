"""Two-phase all-reduce: sum of 1000003 BF16 elements over 7 ranks.

Reduce-scatter, then all-gather. Rank r owns chunk r: it adds everybody's chunk r,
then everybody reads it back.

    rank 0   stage | A | +c0 from 1 2 3 4 5 6 | B | c0 c1 c2 c3 c4 c5 c6
    rank 1   stage | A | +c1 from 2 3 4 5 6 0 | B | c1 c2 c3 c4 c5 c6 c0
    rank 2   stage | A | +c2 from 3 4 5 6 0 1 | B | c2 c3 c4 c5 c6 c0 c1
    rank 3   stage | A | +c3 from 4 5 6 0 1 2 | B | c3 c4 c5 c6 c0 c1 c2
    rank 4   stage | A | +c4 from 5 6 0 1 2 3 | B | c4 c5 c6 c0 c1 c2 c3
    rank 5   stage | A | +c5 from 6 0 1 2 3 4 | B | c5 c6 c0 c1 c2 c3 c4
    rank 6   stage | A | +c6 from 0 1 2 3 4 5 | B | c6 c0 c1 c2 c3 c4 c5

A: all inputs are staged (signal row 0). B: all chunks are reduced (signal row 1).

Chunks are whole 32-byte blocks: 6 of 142864 elements, one of 142819.

Cost per rank
    remote reads    3428736 B   1.000 x the bound 2(P-1)/P, 0.285 x mesh
    all ranks      24001152 B   the above is each rank's share
    barrier rounds        2     12 notifies, 12 waits
    windows         4000192 B   data, result
    on-chip buffer   163840 B   of 188416 B

Every rank gets the same bits: chunk r is summed by rank r alone, in the order
r, r+1, ..., wrapping around, in FP32 and rounded once.

Run it where pypto is installed:

    python two_phase_p7_n1000003_bf16.py -p a2a3sim -d 0,1,2,3,4,5,6

Made by: allreduce-gen --ranks 7 --size 1000003 --dtype bf16
"""

import argparse

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import ir
from pypto.ir.distributed_compiled_program import DistributedConfig

NUM_RANKS = 7
SIZE = 1000003
CHUNK = 142864
PADDED = 1000048  # elements of a window: every chunk whole
TILE = 16384  # most elements in one load or store
STAGE_TILES = 61  # full tiles in SIZE
STAGE_TAIL = 579  # elements of SIZE after its full tiles
TILES = 8  # full tiles in CHUNK
TAIL = 11792  # elements of CHUNK after its full tiles

# One signal row for each barrier round: slots only ever count up, so a row that
# has let one barrier pass would let the next one pass at once.
ROW_STAGED = 0
ROW_REDUCED = 1
NUM_ROWS = 2


@pl.program
class AllReduce:
    @pl.function(type=pl.FunctionType.InCore)
    def all_reduce(
        self,
        x: pl.Tensor[[1, SIZE], pl.BF16],
        y: pl.Out[pl.Tensor[[1, SIZE], pl.BF16]],
        data: pl.InOut[pld.DistributedTensor[[1, PADDED], pl.BF16]],
        result: pl.InOut[pld.DistributedTensor[[1, PADDED], pl.BF16]],
        signal: pl.InOut[pld.DistributedTensor[[NUM_ROWS, NUM_RANKS], pl.INT32]],
    ) -> pl.Tensor[[1, SIZE], pl.BF16]:
        ctx = pld.get_comm_ctx(data)
        my_rank = pld.rank(ctx)
        my_chunk = my_rank * CHUNK

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
                signal, offsets=[ROW_STAGED, peer], expected=1, cmp=pld.WaitCmp.Ge
            )

        # Reduce-scatter: add every peer's copy of the chunk that this rank owns.
        for t in pl.range(TILES):
            at = my_chunk + t * TILE
            own = pl.load(data, [0, at], [1, TILE])
            acc = pl.cast(own, pl.FP32)
            for step in pl.range(1, NUM_RANKS):
                peer = (my_rank + step) % NUM_RANKS
                contribution = pld.tile.remote_load(
                    data, peer=peer, offsets=[0, at], shape=[1, TILE]
                )
                wide = pl.cast(contribution, pl.FP32)
                acc = pl.add(acc, wide)
            narrow = pl.cast(acc, pl.BF16, mode="rint")
            result = pl.store(narrow, [0, at], result)
        at = my_chunk + TILES * TILE
        own_tail = pl.load(data, [0, at], [1, TAIL])
        acc_tail = pl.cast(own_tail, pl.FP32)
        for step in pl.range(1, NUM_RANKS):
            peer = (my_rank + step) % NUM_RANKS
            contribution_tail = pld.tile.remote_load(
                data, peer=peer, offsets=[0, at], shape=[1, TAIL]
            )
            wide_tail = pl.cast(contribution_tail, pl.FP32)
            acc_tail = pl.add(acc_tail, wide_tail)
        narrow_tail = pl.cast(acc_tail, pl.BF16, mode="rint")
        result = pl.store(narrow_tail, [0, at], result)

        # Barrier B: all chunks are reduced.
        for step in pl.range(1, NUM_RANKS):
            peer = (my_rank + step) % NUM_RANKS
            pld.system.notify(
                signal,
                peer=peer,
                offsets=[ROW_REDUCED, my_rank],
                value=1,
                op=pld.NotifyOp.AtomicAdd,
            )
        for step in pl.range(1, NUM_RANKS):
            peer = (my_rank + step) % NUM_RANKS
            pld.system.wait(
                signal, offsets=[ROW_REDUCED, peer], expected=1, cmp=pld.WaitCmp.Ge
            )

        # All-gather: read each chunk from the rank that owns it.
        for step in pl.range(NUM_RANKS):
            owner = (my_rank + step) % NUM_RANKS
            for t in pl.range(TILES):
                at = owner * CHUNK + t * TILE
                length = pl.min(TILE, SIZE - at)
                reduced = pld.tile.remote_load(
                    result, peer=owner, offsets=[0, at], shape=[1, TILE]
                )
                cut = pl.set_validshape(reduced, 1, length)
                y = pl.store(cut, [0, at], y)
            at = owner * CHUNK + TILES * TILE
            length = pl.min(TAIL, SIZE - at)
            reduced_tail = pld.tile.remote_load(
                result, peer=owner, offsets=[0, at], shape=[1, TAIL]
            )
            cut_tail = pl.set_validshape(reduced_tail, 1, length)
            y = pl.store(cut_tail, [0, at], y)
        return y

    @pl.function(type=pl.FunctionType.Orchestration)
    def per_rank(
        self,
        x: pl.Tensor[[1, SIZE], pl.BF16],
        y: pl.Out[pl.Tensor[[1, SIZE], pl.BF16]],
        data: pl.InOut[pld.DistributedTensor[[1, PADDED], pl.BF16]],
        result: pl.InOut[pld.DistributedTensor[[1, PADDED], pl.BF16]],
        signal: pl.InOut[pld.DistributedTensor[[NUM_ROWS, NUM_RANKS], pl.INT32]],
    ) -> pl.Tensor[[1, SIZE], pl.BF16]:
        return self.all_reduce(x, y, data, result, signal)

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(
        self,
        x: pl.Tensor[[NUM_RANKS, 1, SIZE], pl.BF16],
        y: pl.Out[pl.Tensor[[NUM_RANKS, 1, SIZE], pl.BF16]],
    ) -> pl.Tensor[[NUM_RANKS, 1, SIZE], pl.BF16]:
        data_buf = pld.alloc_window_buffer([1, PADDED], dtype=pl.BF16)
        result_buf = pld.alloc_window_buffer([1, PADDED], dtype=pl.BF16)
        signal_buf = pld.alloc_window_buffer([NUM_ROWS, NUM_RANKS], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            data = pld.window(data_buf, [1, PADDED], dtype=pl.BF16)
            result = pld.window(result_buf, [1, PADDED], dtype=pl.BF16)
            signal = pld.window(signal_buf, [NUM_ROWS, NUM_RANKS], dtype=pl.INT32)
            self.per_rank(x[r], y[r], data, result, signal, device=r)
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
