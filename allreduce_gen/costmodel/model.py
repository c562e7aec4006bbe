"""The five numbers that a time is made of."""

from __future__ import annotations

from dataclasses import dataclass

COEFFICIENTS = {
    "alpha_s": "seconds a round in which data moves, however many peers it has",
    "t_notify_s": "seconds a notify to a peer",
    "beta_s_per_byte": "seconds a byte that crosses a rank's port",
    "gamma_s_per_byte": "seconds a byte that the vector unit combines",
    "copy_s_per_byte": "seconds a byte loaded from or stored to the rank's own memory",
}
"""The keys of a platform in a cost file, and what each means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostModel:
    """What moving and combining data costs on `platform`.

    `is_calibrated` says whether the numbers were measured, `source` where they are
    from.
    """

    platform: str
    alpha_s: float
    t_notify_s: float
    beta_s_per_byte: float
    gamma_s_per_byte: float
    copy_s_per_byte: float
    is_calibrated: bool
    source: str

    @property
    def state(self) -> str:
        """The word that every table and reason has beside its times."""
        return "calibrated" if self.is_calibrated else "uncalibrated"


def format_seconds(seconds: float) -> str:
    """`seconds` to four digits, in the unit that fits: `41.25 us`."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.4g} {unit}"
    return f"{seconds / 1e-9:.4g} ns"
