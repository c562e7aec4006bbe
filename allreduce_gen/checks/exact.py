"""Whether two events can come in either order, decided by replays where need be."""

from __future__ import annotations

import bisect

from .happens_before import Order
from .program import Point
from .replay import Reach, reach
from .slots import Sync


class Judge:
    """Decides pairs of events that both happen; remembers the replays that it needs."""

    def __init__(self, sync: Sync, reached: Reach, order: Order) -> None:
        self._sync, self._reached, self._order = sync, reached, order
        self._ats = [[op.at for op in mine] for mine in sync.ops]
        self._limits: dict[tuple[int, int], tuple[int, ...]] = {}

    def happens(self, point: Point) -> bool:
        """Whether any interleaving gets past `point`."""
        return point.at < self._reached.limits[point.agent]

    def unordered(self, left: Point, right: Point) -> bool:
        """Whether some interleaving has `left` first and another one `right` first."""
        if self._order.before(left, right) or self._order.before(right, left):
            return False
        return self._order.exact or (
            self._can_do_without(right, left) and self._can_do_without(left, right)
        )

    def _can_do_without(self, point: Point, missing: Point) -> bool:
        """Whether `point` is got past while `missing` is held back."""
        # Replays differ only by the signals that the frozen agent has given.
        given = bisect.bisect_left(self._ats[missing.agent], missing.at)
        key = (missing.agent, given)
        if key not in self._limits:
            self._limits[key] = reach(self._sync, missing).limits
        return point.at < self._limits[key][point.agent]
