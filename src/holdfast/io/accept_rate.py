"""How fast new connections come from one address: as many a second as it may, and not more than that at once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

_KEPT_MAX: Final = 10_000  # Addresses: the one that came longest ago is forgotten, and may come as if it never had.

RateOf = Callable[[str], float | None]  # New connections a second of an address; None: as many as come.


class AddressRates:
    """For each address that has a rate, what is left of it. Belongs to one event loop."""

    def __init__(self, rate_of: RateOf, now: Callable[[], float]) -> None:
        self._rate_of = rate_of
        self._now = now
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # Connections that may come, and as of when.

    def wait_s(self, address: str) -> float:
        """0 if one may come from there now, which then counts; else in how many seconds one may."""
        rate = self._rate_of(address)
        if rate is None:
            self._left.pop(address, None)
            return 0.0
        now, most = self._now(), max(rate, 1.0)
        left, since = self._left.pop(address, (most, now))
        left = min(left + (now - since) * rate, most)
        wait_s = 0.0 if left >= 1 else (1 - left) / rate
        self._left[address] = (left if wait_s else left - 1, now)
        if len(self._left) > _KEPT_MAX:
            self._left.popitem(last=False)
        return wait_s
