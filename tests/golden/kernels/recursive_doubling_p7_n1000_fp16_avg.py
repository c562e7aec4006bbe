"""Recursive-doubling all-reduce: mean of 1000 FP16 elements over 7 ranks.

In round k, ranks whose numbers differ in bit k exchange all they have.

    rank 0   stage | +4 | +1 | +2 | to 4 | scale | out
    rank 1   stage | +5 | +0 | +3 | to 5 | scale | out
    rank 2   stage | +6 | +3 | +0 | to 6 | scale | out
    rank 3   stage | +2 | +1 | scale | out
    rank 4   stage | to 0 | from 0 | scale | out
    rank 5   stage | to 1 | from 1 | scale | out
    rank 6   stage | to 2 | from 2 | scale | out

Ranks 4 to 6 are folded into ranks 0 to 2: they give their elements before and get the
result after.

Each round writes a vector of its own: a partner may still be reading the last one.

Cost per rank
    remote reads     12096 B   3.528 x the bound 2(P-1)/P, 1.000 x mesh
    all ranks        56448 B   the above is the busiest rank's share
    wait rounds          3     3 notifies, 3 waits
    windows          12096 B   data
    on-chip buffer    8064 B   of 188416 B

Every rank gets the same bits: all combine alike, folded ranks first, then neighbours,
then pairs of them, and so on, in FP32, and the sum is scaled by 1/P and rounded once:

    (((x0 + x4) + (x1 + x5)) + ((x2 + x6) + x3)) * SCALE

Run it where pypto is installed:

    python recursive_doubling_p7_n1000_fp16_avg.py -p a2a3sim -d 0,1,2,3,4,5,6

Made by: allreduce-gen --ranks 7 --size 1000 --algorithm recursive_doubling \
    --dtype fp16 --op avg
"""

import argparse

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import ir
from pypto.ir.distributed_compiled_program import DistributedConfig

NUM_RANKS = 7
SIZE = 1000
PADDED = 1008  # elements of a window's row: whole 32-byte blocks
CORE = 4  # ranks that exchange with each other
EXTRA = 3  # ranks after them, folded into the first ones
ROUNDS = 2
VECTORS = 3  # the input, and one for each round's result
SCALE = 0.14285714285714285  # 1 / NUM_RANKS

# A row serves all its rounds: rank r raises slot r of a peer, no slot twice a call.
ROW_PAIRED = 0
ROW_FOLDED = 1
NUM_ROWS = 2


@pl.program
class AllReduce:
    @pl.function(type=pl.FunctionType.InCore)
    def all_reduce(
        self,
        x: pl.Tensor[[1, SIZE], pl.FP16],
        y: pl.Out[pl.Tensor[[1, SIZE], pl.FP16]],
        data: pl.InOut[pld.DistributedTensor[[VECTORS, PADDED], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[NUM_ROWS, NUM_RANKS], pl.INT32]],
    ) -> pl.Tensor[[1, SIZE], pl.FP16]:
        ctx = pld.get_comm_ctx(data)
        my_rank = pld.rank(ctx)

        # Stage in: the first partner reads from the data window, widened once.
        staged = pl.load(x, [0, 0], [1, PADDED], valid_shape=[1, SIZE])
        wide = pl.cast(staged, pl.FP32)
        data = pl.store(wide, [0, 0], data)

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
            acc = pl.load(data, [0, 0], [1, PADDED])
            contribution = pld.tile.remote_load(
                data, peer=my_rank + CORE, offsets=[0, 0], shape=[1, PADDED]
            )
            acc = pl.add(acc, contribution)
            data = pl.store(acc, [0, 0], data)

        # Exchange: in each round with the rank whose number differs in one bit.
        if my_rank < CORE:
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
                    signal,
                    offsets=[ROW_PAIRED, partner],
                    expected=1,
                    cmp=pld.WaitCmp.Ge,
                )
                first = pld.tile.remote_load(
                    data, peer=lower, offsets=[step, 0], shape=[1, PADDED]
                )
                second = pld.tile.remote_load(
                    data, peer=upper, offsets=[step, 0], shape=[1, PADDED]
                )
                acc = pl.add(first, second)
                data = pl.store(acc, [step + 1, 0], data)

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
            given = pld.tile.remote_load(
                data, peer=my_rank - CORE, offsets=[ROUNDS, 0], shape=[1, PADDED]
            )
            data = pl.store(given, [ROUNDS, 0], data)

        # Stage out: scale the sum in the data window and round it once.
        total = pl.load(data, [ROUNDS, 0], [1, PADDED], valid_shape=[1, SIZE])
        scaled = pl.mul(total, SCALE)
        narrow = pl.cast(scaled, pl.FP16, mode="rint")
        y = pl.store(narrow, [0, 0], y)
        return y

    @pl.function(type=pl.FunctionType.Orchestration)
    def per_rank(
        self,
        x: pl.Tensor[[1, SIZE], pl.FP16],
        y: pl.Out[pl.Tensor[[1, SIZE], pl.FP16]],
        data: pl.InOut[pld.DistributedTensor[[VECTORS, PADDED], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[NUM_ROWS, NUM_RANKS], pl.INT32]],
    ) -> pl.Tensor[[1, SIZE], pl.FP16]:
        return self.all_reduce(x, y, data, signal)

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(
        self,
        x: pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP16],
        y: pl.Out[pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP16]],
    ) -> pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP16]:
        data_buf = pld.alloc_window_buffer([VECTORS, PADDED], dtype=pl.FP32)
        signal_buf = pld.alloc_window_buffer([NUM_ROWS, NUM_RANKS], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            data = pld.window(data_buf, [VECTORS, PADDED], dtype=pl.FP32)
            signal = pld.window(signal_buf, [NUM_ROWS, NUM_RANKS], dtype=pl.INT32)
            self.per_rank(x[r], y[r], data, signal, device=r)
        return y


def main() -> int:
    """Compile, run on random inputs, compare every rank with torch's mean."""
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

    x = torch.randn(NUM_RANKS, 1, SIZE).to(torch.float16)
    y = torch.zeros_like(x)
    compiled(x, y)
    torch.testing.assert_close(
        y, x.float().mean(dim=0).to(x.dtype).expand_as(y), rtol=1e-3, atol=1e-3
    )
    print("OK")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
