"""Subscriptions: those that are open at this broker, and how far each is behind."""

from __future__ import annotations

from typing import Any

from holdfast.console.routes import Visit


async def subscriptions(visit: Visit) -> dict[str, Any]:
    counts = visit.parts.subscriptions
    return {
        "open": len(counts.open),
        "events": counts.events,
        "size": counts.sent_size,
        "lags": sorted((lag() for lag in list(counts.open)[:500]), reverse=True),
    }
