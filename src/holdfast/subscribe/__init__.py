"""Subscriptions: follow many sources in timestamp order, catch up at storage speed, then live within milliseconds.

For applications: `subscribe`, and what it gives and takes. `service` is the server's side. What both sides use: `piece`
(decoded records of a lane), `merge` (the order), `gather` (rows in order as Arrow), `pump` (the merge with waiting),
`filter`, `cursor`. The guide is `docs/guides/subscribe.md`.

The names are imported when they are used first: whoever only reads the settings waits for neither gRPC nor Arrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.face import face

if TYPE_CHECKING:
    from holdfast.subscribe.client.events import Event, EventBatch
    from holdfast.subscribe.client.subscription import NOW, Subscription, subscribe
    from holdfast.subscribe.cursor import Cursor
    from holdfast.subscribe.filter import Filter
    from holdfast.subscribe.stats import Stats
    from holdfast.subscribe.wire.request import Source

__all__ = ["NOW", "Cursor", "Event", "EventBatch", "Filter", "Source", "Stats", "Subscription", "subscribe"]

__getattr__ = face(
    __name__,
    {
        "NOW": "holdfast.subscribe.client.subscription",
        "Cursor": "holdfast.subscribe.cursor",
        "Event": "holdfast.subscribe.client.events",
        "EventBatch": "holdfast.subscribe.client.events",
        "Filter": "holdfast.subscribe.filter",
        "Source": "holdfast.subscribe.wire.request",
        "Stats": "holdfast.subscribe.stats",
        "Subscription": "holdfast.subscribe.client.subscription",
        "subscribe": "holdfast.subscribe.client.subscription",
    },
)
