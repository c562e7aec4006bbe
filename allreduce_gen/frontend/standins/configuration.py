"""The configuration objects that a script passes when it compiles and runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

PLATFORMS = ("a2a3sim", "a2a3", "a5sim", "a5")

PROFILER_LEVELS = {
    "_SWIMLANE_MAX_LEVEL": 4,
    "_SWIMLANE_FULL_LEVEL": 4,
    "_SWIMLANE_CLI_HELP": "not simulated",
}
"""What the conftest.py of pypto's own tests makes options of."""


@dataclass(kw_only=True)
class DistributedConfig:
    """Which devices a program runs on: as many ranks as `device_ids`.

    Raises ValueError for what pypto refuses too.
    """

    device_ids: list[int] = field(default_factory=lambda: [0])
    num_sub_workers: int = 0
    runtime: str = "tensormap_and_ringbuffer"
    aicpu_thread_num: int = 0

    def __post_init__(self) -> None:
        ids = self.device_ids
        if not ids or min(ids) < 0 or len(set(ids)) != len(ids):
            raise ValueError(
                f"device_ids must be distinct, none below 0, at least one: got {ids}"
            )
        if self.num_sub_workers < 0:
            raise ValueError(f"num_sub_workers is {self.num_sub_workers}")
        if self.aicpu_thread_num < 0 or self.aicpu_thread_num == 1:
            raise ValueError(
                f"aicpu_thread_num is {self.aicpu_thread_num}: wanted 0, or 2 and more"
            )


class RunConfig:
    """Options of a jit call: the platform and the devices count, the rest is kept."""

    __test__ = False

    def __init__(
        self,
        *,
        platform: str = "a2a3sim",
        distributed_config: DistributedConfig | None = None,
        device_id: int = 0,
        rtol: float = 1e-5,
        atol: float = 1e-5,
        **options: Any,
    ) -> None:
        if platform not in PLATFORMS:
            raise ValueError(f"platform is {platform!r}: wanted {', '.join(PLATFORMS)}")
        self.platform = platform
        self.distributed_config = distributed_config
        self.device_id = device_id
        self.rtol = rtol
        self.atol = atol
        self.__dict__.update(options)
