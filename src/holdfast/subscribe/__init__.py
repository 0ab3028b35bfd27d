"""Subscriptions: follow many sources in timestamp order, catch up at storage speed, then live within milliseconds.

For applications: `subscribe`, and what it gives and takes. `service` is the server's side. What both sides use: `piece`
(decoded records of a lane), `merge` (the order), `gather` (rows in order as Arrow), `pump` (the merge with waiting),
`filter`, `cursor`. The guide is `docs/guides/subscribe.md`.

The names are imported when they are used first: whoever only reads the settings waits for neither gRPC nor Arrow.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.subscribe.client.events import Event, EventBatch
    from holdfast.subscribe.client.subscription import NOW, Subscription, subscribe
    from holdfast.subscribe.cursor import Cursor
    from holdfast.subscribe.filter import Filter
    from holdfast.subscribe.stats import Stats
    from holdfast.subscribe.wire.request import Source

__all__ = ["NOW", "Cursor", "Event", "EventBatch", "Filter", "Source", "Stats", "Subscription", "subscribe"]

_PLACES = {
    "NOW": "client.subscription",
    "Cursor": "cursor",
    "Event": "client.events",
    "EventBatch": "client.events",
    "Filter": "filter",
    "Source": "wire.request",
    "Stats": "stats",
    "Subscription": "client.subscription",
    "subscribe": "client.subscription",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
