"""Waiting at the start for brokers that are away: a sync may be started before those that it needs."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from holdfast.errors import Unavailable
from holdfast.io.clock import Clock
from holdfast.sync.sides import PATIENCE_S

log = logging.getLogger(__name__)

T = TypeVar("T")


def wait_for(ask: Callable[[float], T], limit_s: float | None, clock: Clock) -> T:
    """What both clusters answer, asked with so much patience at a time; the last failure is raised at the limit.

    A try has the patience of one call, so a line is said about as often.
    """
    started = clock.monotonic()
    while True:
        left_s = None if limit_s is None else max(started + limit_s - clock.monotonic(), 0.0)
        is_last = left_s is not None and left_s <= PATIENCE_S
        try:
            return ask(PATIENCE_S if left_s is None else min(left_s, PATIENCE_S))
        except Unavailable as failure:
            if is_last:
                raise
            log.warning("waiting for both clusters: %s", failure)
