"""A subscription reads the backlog from the segments themselves, by reference, and goes over to live events."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from itertools import takewhile
from typing import Any

import numpy as np

from holdfast.demo.account import Account
from holdfast.demo.events import TOPIC
from holdfast.demo.outcome import DemoClaim, Outcome
from holdfast.demo.stage import Stage
from holdfast.demo.steps.producing import Producing
from holdfast.errors import Unavailable
from holdfast.testing import RunningBroker

_TOLD = re.compile(r"subscribers at ([^\s\"]+:\d+)")
_SERVES = "Kafka clients at"  # The line before it, of every start.
_SILENT_S_MAX = 60.0
_LOOK_S = 0.05


def subscribe_to_all(stage: Stage) -> Outcome:
    """From the beginning; when the backlog is through, the last events are written while it is open."""
    return stage.interrupt.run(_subscribe(stage))


async def _subscribe(stage: Stage) -> Outcome:
    from holdfast.subscribe import subscribe

    address = await _address(stage.broker())
    account = Account(stage.ledger)
    began = stage.clock.monotonic()
    backlog_s = 0.0
    writing: asyncio.Task[None] | None = None
    async with subscribe(address, TOPIC, since=0) as subscription:
        async for batch in _heard(subscription.batches()):
            _add(account, batch.batch)
            stage.watch.at(account.count, stage.wanted.events)
            if account.count >= stage.backlog and writing is None:
                backlog_s = stage.clock.monotonic() - began
                live = Producing(stage, stage.backlog, stage.wanted.events)
                writing = asyncio.create_task(asyncio.to_thread(live.run))
            if account.count >= stage.wanted.events:
                break
        if writing is not None:
            await writing
        stats = subscription.stats
    claims = (
        account.settle().claim("every event came once, in order, backlog and live ones"),
        DemoClaim("the backlog was read from the store itself", stats.segments > 0, f"{stats.segments:,} segments"),
    )
    facts = {"live events": f"{stage.wanted.live_events:,}", "late": f"{stats.late:,}"}
    return Outcome(claims, stage.backlog, backlog_s, facts)


async def _heard(batches: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """The batches; one that does not come is a failure, not an end."""
    while True:
        try:
            yield await asyncio.wait_for(anext(batches), _SILENT_S_MAX)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise Unavailable(f"the subscription brought nothing for {_SILENT_S_MAX:.0f} s") from None


async def _address(broker: RunningBroker) -> str:
    """The subscribers' port, which opens a little later than Kafka's. The broker says it."""
    for _ in range(int(_SILENT_S_MAX / _LOOK_S)):
        since_start = takewhile(lambda line: _SERVES not in line, reversed(broker.said))
        for found in filter(None, map(_TOLD.search, since_start)):
            return found[1]
        await asyncio.sleep(_LOOK_S)
    raise Unavailable(f"the broker did not open its subscribers' port within {_SILENT_S_MAX:.0f} s")


def _add(account: Account, rows: Any) -> None:
    partitions, offsets = (rows.column(name).to_numpy().astype(np.int64) for name in ("partition", "offset"))
    account.add(rows.column("value"), partitions, offsets)
