"""Long work in slices: whoever goes through many items lets everybody else go on after about two milliseconds.

    answers = [answer(each) async for each in request.pace.through(message.topics)]

One pace goes with a request, through all of its loops, also those inside one another.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from holdfast.io.clock import Clock
from holdfast.io.turns import Pace
from holdfast.protocol.message import Message, lists_of

PIECE_COUNT = 250  # Items that go into the log together: more of them would hold the event loop for too long.

_SORTED_COUNT = 2_000

K = TypeVar("K")
T = TypeVar("T")


class Slices(Pace):
    """How long the event loop has been held for one request."""

    __slots__ = ()

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock.monotonic)

    async def counted(self, items: Iterable[K]) -> Counter[K]:
        """How often each item is there."""
        counts = Counter[K]()
        async for item in self.through(items):
            counts[item] += 1
        return counts

    async def in_order(self, items: Collection[str]) -> AsyncIterator[str]:
        """The items sorted, one by one, as above; to sort all of them at once would hold the loop."""
        rest, pieces = iter(items), list[list[str]]()
        for _ in range(0, len(items), _SORTED_COUNT):
            pieces.append(sorted(islice(rest, _SORTED_COUNT)))
            await self.rest()
        async for item in self.through(heapq.merge(*pieces)):
            yield item

    async def let_go(self, message: Message) -> None:
        """Take a large message apart: all of its parts at once would hold the loop."""
        for items in lists_of(message):
            if not items or not isinstance(items[0], Message):
                continue
            while items:
                for item in items[-PIECE_COUNT:]:
                    if _is_large(item):
                        await self.let_go(item)
                del items[-PIECE_COUNT:]
                await self.rest()


def _is_large(item: Message) -> bool:
    return any(len(each) > PIECE_COUNT for each in lists_of(item))


def in_pieces(items: Mapping[K, T]) -> Iterator[dict[K, T]]:
    """The items of a mapping, a few hundred at a time; at least one piece, which may be empty."""
    rest = iter(items.items())
    yield dict(islice(rest, PIECE_COUNT))
    while piece := dict(islice(rest, PIECE_COUNT)):
        yield piece


def pieces_of(items: Sequence[T], count: int = PIECE_COUNT) -> Iterator[Sequence[T]]:
    """The items of a list, a few hundred at a time; at least one piece, which may be empty."""
    for start in range(0, max(len(items), 1), count):
        yield items[start : start + count]
