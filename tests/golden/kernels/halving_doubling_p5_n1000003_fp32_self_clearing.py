"""Halving-doubling all-reduce: sum of 1000003 FP32 elements over 5 ranks.

Rabenseifner's: pairs exchange halves of the chunks, then halves of these, until each
rank has one chunk reduced; the same pairs backwards gather the chunks again.
c2@1 is chunk 2 of rank 1.

    rank 0   stage | +4 | +c0-1@2 | +c0@1 | c1@1 | c2-3@2 | to 4 | A | out
    rank 1   stage | +c0-1@3 | +c1@0 | c0@0 | c2-3@3 | A | out
    rank 2   stage | +c2-3@0 | +c2@3 | c3@3 | c0-1@0 | A | out
    rank 3   stage | +c2-3@1 | +c3@2 | c2@2 | c0-1@1 | A | out
    rank 4   stage | to 0 | from 0 | A | out

A: everybody is done, so the next call may stage its inputs.

Rank 4 is folded into rank 0: it gives its elements before and gets the result after.

Cost per rank
    remote reads   10004480 B   1.563 x the bound 2(P-1)/P, 0.625 x mesh
    all ranks      32014336 B   the above is the busiest rank's share
    wait rounds           6     18 notifies, 9 waits
    windows         4001792 B   data
    on-chip buffer   125056 B   of 188416 B

Every rank gets the same bits: all chunks are combined alike, folded ranks first, then
ranks CORE/2 apart, then half of that, and so on:

    ((x0 + x4) + x2) + (x1 + x3)

Windows may persist between calls: each call returns its slots to zero.

Run it where pypto is installed:

    python halving_doubling_p5_n1000003_fp32_self_clearing.py -p a2a3sim -d 0,1,2,3,4

Made by: allreduce-gen --ranks 5 --size 1000003 --algorithm halving_doubling \
    --reuse self_clearing
"""

import argparse

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import ir
from pypto.ir.distributed_compiled_program import DistributedConfig

NUM_RANKS = 5
SIZE = 1000003
CHUNK = 250112
PADDED = 1000448  # elements of a window: every chunk whole
TILE = 15632  # most elements in one load or store
TILES = 16  # tiles in CHUNK
STAGE_TILES = 63  # full tiles in SIZE
STAGE_TAIL = 15187  # elements of SIZE after its full tiles
CORE = 4  # ranks that exchange with each other
EXTRA = 1  # ranks after them, folded into the first ones
ROUNDS = 2

# A row serves all its rounds: rank r raises slot r of a peer, no slot twice a call.
ROW_HALVE = 0
ROW_DOUBLE = 1
ROW_FOLDED = 2
ROW_DONE = 3
NUM_ROWS = 4


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

        # Stage in: partners read from the data window.
        for t in pl.range(STAGE_TILES):
            at = t * TILE
            staged = pl.load(x, [0, at], [1, TILE])
            data = pl.store(staged, [0, at], data)
        at = STAGE_TILES * TILE
        staged_tail = pl.load(x, [0, at], [1, TILE], valid_shape=[1, STAGE_TAIL])
        data = pl.store(staged_tail, [0, at], data)

        # Fold in: each rank after the core gives its elements to one of the first.
        if my_rank >= CORE:
            pld.system.notify(
                signal,
                peer=my_rank - CORE,
                offsets=[ROW_FOLDED, my_rank],
                value=1,
                op=pld.NotifyOp.AtomicAdd,
            )
        if my_rank < EXTRA:
            pld.system.wait(
                signal,
                offsets=[ROW_FOLDED, my_rank + CORE],
                expected=1,
                cmp=pld.WaitCmp.Ge,
            )
            # Lower the slot again: the next call starts from zero.
            pld.system.notify(
                signal,
                peer=my_rank,
                offsets=[ROW_FOLDED, my_rank + CORE],
                value=-1,
                op=pld.NotifyOp.AtomicAdd,
            )
            for t in pl.range(CORE * TILES):
                at = t * TILE
                acc = pl.load(data, [0, at], [1, TILE])
                contribution = pld.tile.remote_load(
                    data, peer=my_rank + CORE, offsets=[0, at], shape=[1, TILE]
                )
                acc = pl.add(acc, contribution)
                data = pl.store(acc, [0, at], data)

        # Reduce-scatter: add the partner's copy of the half with this rank's chunk.
        if my_rank < CORE:
            for step in pl.range(ROUNDS):
                distance = CORE >> (step + 1)
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
                # Lower the slot again: the next call starts from zero.
                pld.system.notify(
                    signal,
                    peer=my_rank,
                    offsets=[ROW_HALVE, partner],
                    value=-1,
                    op=pld.NotifyOp.AtomicAdd,
                )
                for t in pl.range(distance * TILES):
                    at = start + t * TILE
                    acc = pl.load(data, [0, at], [1, TILE])
                    contribution = pld.tile.remote_load(
                        data, peer=partner, offsets=[0, at], shape=[1, TILE]
                    )
                    acc = pl.add(acc, contribution)
                    data = pl.store(acc, [0, at], data)

        # All-gather: take over what the partner has, which is as much again.
        if my_rank < CORE:
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
                    signal,
                    offsets=[ROW_DOUBLE, partner],
                    expected=1,
                    cmp=pld.WaitCmp.Ge,
                )
                # Lower the slot again: the next call starts from zero.
                pld.system.notify(
                    signal,
                    peer=my_rank,
                    offsets=[ROW_DOUBLE, partner],
                    value=-1,
                    op=pld.NotifyOp.AtomicAdd,
                )
                for t in pl.range(distance * TILES):
                    at = start + t * TILE
                    reduced = pld.tile.remote_load(
                        data, peer=partner, offsets=[0, at], shape=[1, TILE]
                    )
                    data = pl.store(reduced, [0, at], data)

        # Fold out: each rank after the core gets the result.
        if my_rank < EXTRA:
            pld.system.notify(
                signal,
                peer=my_rank + CORE,
                offsets=[ROW_FOLDED, my_rank],
                value=1,
                op=pld.NotifyOp.AtomicAdd,
            )
        if my_rank >= CORE:
            pld.system.wait(
                signal,
                offsets=[ROW_FOLDED, my_rank - CORE],
                expected=1,
                cmp=pld.WaitCmp.Ge,
            )
            # Lower the slot again: the next call starts from zero.
            pld.system.notify(
                signal,
                peer=my_rank,
                offsets=[ROW_FOLDED, my_rank - CORE],
                value=-1,
                op=pld.NotifyOp.AtomicAdd,
            )
            for t in pl.range(CORE * TILES):
                at = t * TILE
                given = pld.tile.remote_load(
                    data, peer=my_rank - CORE, offsets=[0, at], shape=[1, TILE]
                )
                data = pl.store(given, [0, at], data)

        # Barrier A: everybody is done, so the windows may be written again.
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
                signal, offsets=[ROW_DONE, peer], expected=1, cmp=pld.WaitCmp.Ge
            )
        # Lower the slots again: the next call starts from zero.
        for step in pl.range(1, NUM_RANKS):
            peer = (my_rank + step) % NUM_RANKS
            pld.system.notify(
                signal,
                peer=my_rank,
                offsets=[ROW_DONE, peer],
                value=-1,
                op=pld.NotifyOp.AtomicAdd,
            )

        # Stage out: the data window holds the result.
        for t in pl.range(STAGE_TILES):
            at = t * TILE
            total = pl.load(data, [0, at], [1, TILE])
            y = pl.store(total, [0, at], y)
        at = STAGE_TILES * TILE
        total_tail = pl.load(data, [0, at], [1, TILE], valid_shape=[1, STAGE_TAIL])
        y = pl.store(total_tail, [0, at], y)
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

    x = torch.randn(NUM_RANKS, 1, SIZE).share_memory_()
    y = torch.zeros_like(x).share_memory_()
    with compiled.prepare(persistent=True, reset_persistent_windows=False) as run:
        for call in range(1, 4):
            x.copy_(torch.randn(NUM_RANKS, 1, SIZE))
            run(x, y)
            torch.testing.assert_close(
                y, x.sum(dim=0).expand_as(y), rtol=1e-5, atol=1e-5
            )
    print("OK")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
