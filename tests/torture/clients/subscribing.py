"""A subscription: all kept topics in the order of their timestamps, from the beginning."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from tests.torture.clients.seeing import Seeing
from tests.torture.ground import Ground

from holdfast.errors import HoldfastError
from holdfast.subscribe import Subscription, subscribe


@dataclass(frozen=True)
class Subscriber:
    """Goes on by itself after failures; one that fails for good has failed the test."""

    name: str
    topics: tuple[str, ...]
    segment_refs: bool

    def run(self, ground: Ground) -> None:
        asyncio.run(self._run(ground))

    async def _run(self, ground: Ground) -> None:
        history = ground.history(self.name)
        seeing = Seeing(ground, history, committed=True)
        assert ground.store is not None
        objects = ground.store.open() if ground.store.options else None  # Without options the server's word is enough.
        subscription = subscribe(
            ground.subscribers, self.topics, since=0, segment_refs=self.segment_refs, objects=objects
        )
        closing = asyncio.ensure_future(_close_later(ground, subscription))
        try:
            async for batch in subscription.batches():
                for event in batch.events():
                    seeing.add(event.topic, event.partition, event.offset, event.value)
                seeing.write()
        except HoldfastError as failure:
            history.info("unfinished", what=f"the subscription ended with {failure!r}", at_time=time.monotonic())
        finally:
            closing.cancel()
            history.info("client", late=subscription.stats.late, errors=subscription.stats.errors)
            history.close()


async def _close_later(ground: Ground, subscription: Subscription) -> None:
    while not ground.reading.is_set():
        await asyncio.sleep(0.2)
    await subscription.close()
