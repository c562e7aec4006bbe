"""Bidirectional ring all-reduce: sum of 100 FP32 elements over 3 ranks.

Two rings at once: the lower half of each chunk travels to the right, the upper half to
the left, first to be summed, then to be passed on. l0 and u0 are chunk 0's halves.

    rank 0   stage | +l2 l1 from 2, +u1 from 1 | l0 l2 from 2, u0 u1 from 1 | out
    rank 1   stage | +l0 l2 from 0, +u0 from 2 | l1 l0 from 0, u1 from 2 | out
    rank 2   stage | +l1 l0 from 1, +u0 u1 from 0 | l2 l1 from 1, u0 from 0 | out

A rank waits for a neighbour before each read from it, and for nobody else.
Before it ends, it waits until both neighbours have made their last read.

Cost per rank
    remote reads       672 B   1.260 x the bound 2(P-1)/P, 0.808 x mesh
    all ranks         1920 B   the above is the busiest rank's share
    wait rounds          5     10 notifies, 10 waits
    windows            576 B   data
    on-chip buffer     672 B   of 188416 B

Every rank gets the same bits: of chunk c, the lower half is summed in the order c, c+1,
..., the upper one in the order c, c-1, ..., as they travel.

Windows may persist between calls: slots only grow, and the k-th call, counted from 1,
passes epoch=k and waits for k.

Run it where pypto is installed:

    python bidirectional_ring_p3_n100_fp32_epoch.py -p a2a3sim -d 0,1,2

Made by: allreduce-gen --ranks 3 --size 100 --algorithm bidirectional_ring \
    --reuse epoch
"""

import argparse

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import ir
from pypto.ir.distributed_compiled_program import DistributedConfig

NUM_RANKS = 3
SIZE = 100
HALF = 24
PADDED = 144  # elements of a window: every half whole

# A signal row for each read, the first of each direction named here: slots only ever
# count up, so a row that has let one read pass would let the next one pass at once.
ROW_RIGHT = 0
ROW_LEFT = 4
ROW_DONE = 8
NUM_ROWS = 10


@pl.program
class AllReduce:
    @pl.function(type=pl.FunctionType.InCore)
    def all_reduce(
        self,
        x: pl.Tensor[[1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
        data: pl.InOut[pld.DistributedTensor[[1, PADDED], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[NUM_ROWS, NUM_RANKS], pl.INT32]],
        epoch: pl.Scalar[pl.INT32],
    ) -> pl.Tensor[[1, SIZE], pl.FP32]:
        ctx = pld.get_comm_ctx(data)
        my_rank = pld.rank(ctx)
        right = (my_rank + 1) % NUM_RANKS
        left = (my_rank + NUM_RANKS - 1) % NUM_RANKS

        # Stage in: both neighbours read from the data window.
        staged = pl.load(x, [0, 0], [1, PADDED], valid_shape=[1, SIZE])
        data = pl.store(staged, [0, 0], data)

        # Reduce-scatter: add what the neighbours have made of two halves.
        for step in pl.range(NUM_RANKS - 1):
            behind = (my_rank + (NUM_RANKS - 1) * (step + 1)) % NUM_RANKS
            ahead = (my_rank + step + 1) % NUM_RANKS
            lower = 2 * behind * HALF
            upper = (2 * ahead + 1) * HALF
            pld.system.notify(
                signal,
                peer=right,
                offsets=[ROW_RIGHT + step, my_rank],
                value=1,
                op=pld.NotifyOp.AtomicAdd,
            )
            pld.system.notify(
                signal,
                peer=left,
                offsets=[ROW_LEFT + step, my_rank],
                value=1,
                op=pld.NotifyOp.AtomicAdd,
            )
            pld.system.wait(
                signal,
                offsets=[ROW_RIGHT + step, left],
                expected=epoch,
                cmp=pld.WaitCmp.Ge,
            )
            pld.system.wait(
                signal,
                offsets=[ROW_LEFT + step, right],
                expected=epoch,
                cmp=pld.WaitCmp.Ge,
            )
            if lower < SIZE:
                acc = pl.load(data, [0, lower], [1, HALF])
                contribution = pld.tile.remote_load(
                    data, peer=left, offsets=[0, lower], shape=[1, HALF]
                )
                acc = pl.add(acc, contribution)
                data = pl.store(acc, [0, lower], data)
            if upper < SIZE:
                acc = pl.load(data, [0, upper], [1, HALF])
                contribution = pld.tile.remote_load(
                    data, peer=right, offsets=[0, upper], shape=[1, HALF]
                )
                acc = pl.add(acc, contribution)
                data = pl.store(acc, [0, upper], data)

        # All-gather: take over the halves that the neighbours have just got.
        for step in pl.range(NUM_RANKS - 1):
            behind = (my_rank + (NUM_RANKS - 1) * step) % NUM_RANKS
            ahead = (my_rank + step) % NUM_RANKS
            lower = 2 * behind * HALF
            upper = (2 * ahead + 1) * HALF
            pld.system.notify(
                signal,
                peer=right,
                offsets=[ROW_RIGHT + (NUM_RANKS - 1) + step, my_rank],
                value=1,
                op=pld.NotifyOp.AtomicAdd,
            )
            pld.system.notify(
                signal,
                peer=left,
                offsets=[ROW_LEFT + (NUM_RANKS - 1) + step, my_rank],
                value=1,
                op=pld.NotifyOp.AtomicAdd,
            )
            pld.system.wait(
                signal,
                offsets=[ROW_RIGHT + (NUM_RANKS - 1) + step, left],
                expected=epoch,
                cmp=pld.WaitCmp.Ge,
            )
            pld.system.wait(
                signal,
                offsets=[ROW_LEFT + (NUM_RANKS - 1) + step, right],
                expected=epoch,
                cmp=pld.WaitCmp.Ge,
            )
            if lower < SIZE:
                reduced = pld.tile.remote_load(
                    data, peer=left, offsets=[0, lower], shape=[1, HALF]
                )
                data = pl.store(reduced, [0, lower], data)
            if upper < SIZE:
                reduced = pld.tile.remote_load(
                    data, peer=right, offsets=[0, upper], shape=[1, HALF]
                )
                data = pl.store(reduced, [0, upper], data)

        # Both neighbours have made their last read: the window may be written again.
        pld.system.notify(
            signal,
            peer=right,
            offsets=[ROW_DONE, my_rank],
            value=1,
            op=pld.NotifyOp.AtomicAdd,
        )
        pld.system.notify(
            signal,
            peer=left,
            offsets=[ROW_DONE + 1, my_rank],
            value=1,
            op=pld.NotifyOp.AtomicAdd,
        )
        pld.system.wait(
            signal, offsets=[ROW_DONE, left], expected=epoch, cmp=pld.WaitCmp.Ge
        )
        pld.system.wait(
            signal, offsets=[ROW_DONE + 1, right], expected=epoch, cmp=pld.WaitCmp.Ge
        )

        # Stage out: the data window holds the result.
        total = pl.load(data, [0, 0], [1, PADDED], valid_shape=[1, SIZE])
        y = pl.store(total, [0, 0], y)
        return y

    @pl.function(type=pl.FunctionType.Orchestration)
    def per_rank(
        self,
        x: pl.Tensor[[1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
        data: pl.InOut[pld.DistributedTensor[[1, PADDED], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[NUM_ROWS, NUM_RANKS], pl.INT32]],
        epoch: pl.Scalar[pl.INT32],
    ) -> pl.Tensor[[1, SIZE], pl.FP32]:
        return self.all_reduce(x, y, data, signal, epoch)

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(
        self,
        x: pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP32]],
        epoch: pl.Scalar[pl.INT32],
    ) -> pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP32]:
        data_buf = pld.alloc_window_buffer([1, PADDED], dtype=pl.FP32)
        signal_buf = pld.alloc_window_buffer([NUM_ROWS, NUM_RANKS], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            data = pld.window(data_buf, [1, PADDED], dtype=pl.FP32)
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

    x = torch.randn(NUM_RANKS, 1, SIZE).share_memory_()
    y = torch.zeros_like(x).share_memory_()
    with compiled.prepare(persistent=True, reset_persistent_windows=False) as run:
        for call in range(1, 4):
            x.copy_(torch.randn(NUM_RANKS, 1, SIZE))
            run(x, y, call)
            torch.testing.assert_close(
                y, x.sum(dim=0).expand_as(y), rtol=1e-5, atol=1e-5
            )
    print("OK")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
