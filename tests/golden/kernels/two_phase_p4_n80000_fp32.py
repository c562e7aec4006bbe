"""Two-phase all-reduce: sum of 80000 FP32 elements over 4 ranks.

Reduce-scatter, then all-gather. Rank r owns chunk r: it adds everybody's chunk r,
then everybody reads it back.

    rank 0   stage | A | +c0 from 1 2 3 | B | c0 c1 c2 c3
    rank 1   stage | A | +c1 from 2 3 0 | B | c1 c2 c3 c0
    rank 2   stage | A | +c2 from 3 0 1 | B | c2 c3 c0 c1
    rank 3   stage | A | +c3 from 0 1 2 | B | c3 c0 c1 c2

A: all inputs are staged (signal row 0). B: all chunks are reduced (signal row 1).

Cost per rank
    remote reads    480000 B   1.000 x the bound 2(P-1)/P, 0.500 x mesh
    barrier rounds       2     6 notifies, 6 waits
    windows         640000 B   data, result
    on-chip buffer  131072 B   of 188416 B

Every rank gets the same bits: chunk r is summed by rank r alone, in the order
r, r+1, ..., wrapping around.

Run it where pypto is installed:

    python two_phase_p4_n80000_fp32.py -p a2a3sim -d 0,1,2,3

Made by: allreduce-gen --ranks 4 --size 80000
"""

import argparse

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import ir
from pypto.ir.distributed_compiled_program import DistributedConfig

NUM_RANKS = 4
SIZE = 80000
CHUNK = 20000
TILE = 16384  # most elements in one load or store
STAGE_TILES = 4  # full tiles in SIZE
STAGE_TAIL = 14464  # elements of SIZE after its full tiles
TAIL = 3616  # elements of CHUNK after its full tile

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
        x: pl.Tensor[[1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
        data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
        result: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[NUM_ROWS, NUM_RANKS], pl.INT32]],
    ) -> pl.Tensor[[1, SIZE], pl.FP32]:
        ctx = pld.get_comm_ctx(data)
        my_rank = pld.rank(ctx)
        my_chunk = my_rank * CHUNK

        # Stage in: peers may read this rank's input from its data window.
        for t in pl.range(STAGE_TILES):
            at = t * TILE
            staged = pl.load(x, [0, at], [1, TILE])
            data = pl.store(staged, [0, at], data)
        at = STAGE_TILES * TILE
        staged_tail = pl.load(x, [0, at], [1, STAGE_TAIL])
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
        acc = pl.load(data, [0, my_chunk], [1, TILE])
        for step in pl.range(1, NUM_RANKS):
            peer = (my_rank + step) % NUM_RANKS
            contribution = pld.tile.remote_load(
                data, peer=peer, offsets=[0, my_chunk], shape=[1, TILE]
            )
            acc = pl.add(acc, contribution)
        result = pl.store(acc, [0, my_chunk], result)
        at = my_chunk + TILE
        acc_tail = pl.load(data, [0, at], [1, TAIL])
        for step in pl.range(1, NUM_RANKS):
            peer = (my_rank + step) % NUM_RANKS
            contribution_tail = pld.tile.remote_load(
                data, peer=peer, offsets=[0, at], shape=[1, TAIL]
            )
            acc_tail = pl.add(acc_tail, contribution_tail)
        result = pl.store(acc_tail, [0, at], result)

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
            reduced = pld.tile.remote_load(
                result, peer=owner, offsets=[0, owner * CHUNK], shape=[1, TILE]
            )
            y = pl.store(reduced, [0, owner * CHUNK], y)
            at = owner * CHUNK + TILE
            reduced_tail = pld.tile.remote_load(
                result, peer=owner, offsets=[0, at], shape=[1, TAIL]
            )
            y = pl.store(reduced_tail, [0, at], y)
        return y

    @pl.function(type=pl.FunctionType.Orchestration)
    def per_rank(
        self,
        x: pl.Tensor[[1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
        data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
        result: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[NUM_ROWS, NUM_RANKS], pl.INT32]],
    ) -> pl.Tensor[[1, SIZE], pl.FP32]:
        return self.all_reduce(x, y, data, result, signal)

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(
        self,
        x: pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP32]],
    ) -> pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP32]:
        data_buf = pld.alloc_window_buffer([1, SIZE], dtype=pl.FP32)
        result_buf = pld.alloc_window_buffer([1, SIZE], dtype=pl.FP32)
        signal_buf = pld.alloc_window_buffer([NUM_ROWS, NUM_RANKS], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)
            result = pld.window(result_buf, [1, SIZE], dtype=pl.FP32)
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
