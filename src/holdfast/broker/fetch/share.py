"""How much of the loop's time goes to fetches that name very many partitions each time, for the sake of a few records.

librdkafka knows no fetch sessions: a consumer of 2,000 partitions names all of them again in every fetch, and has to be
answered for all. With a fetch for every record that is produced, the loop would do little else, and the producer would
wait behind each of them. So these fetches rest: all together they get a part of the time, and what comes meanwhile
goes into the next one. Whoever gets much out of a fetch, as a consumer that is behind, does not rest.
"""

from __future__ import annotations

import asyncio

from holdfast.io.clock import Clock

MANY_SIZE = 2 << 10  # Bytes of a request: some 60 partitions.
_REST = 4.0  # So many times as long as the work took.
_REST_S_PER_BYTE = 150e-9  # Of the request, at least: the client and the system work on many partitions, too.
_REST_S_MAX = 0.5  # After one fetch.
_MUCH_SIZE = 256 << 10  # Bytes of records.


class FetchShare:
    """Belongs to one event loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._free_at = 0.0

    async def turn(self) -> None:
        """Wait until there is time for another one."""
        left = self._free_at - self._clock.monotonic()
        if left > 0:
            await asyncio.sleep(min(left, _REST_S_MAX))

    def spent(self, seconds: float, size: int, asked_size: int = 0) -> None:
        """A fetch of so many bytes took so much of the time, and was answered with so many bytes of records."""
        if size < _MUCH_SIZE:
            rest = min(max(_REST * seconds, asked_size * _REST_S_PER_BYTE), _REST_S_MAX)
            self._free_at = max(self._free_at, self._clock.monotonic()) + rest
