"""What an operator asks of a broker that is disturbed: again and again, until there is an answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing

from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError

ASK_MS = 5000
_PATIENCE_S = 90.0


def until_done(bootstrap: str, ask: Callable[[KafkaAdminClient], object], *done: type[KafkaError]) -> bool:
    """Ask until it is done, or, as one of these errors says, was done before: an answer may have got lost."""
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        try:
            with closing(KafkaAdminClient(bootstrap_servers=bootstrap, request_timeout_ms=ASK_MS)) as admin:
                ask(admin)
            return True
        except done:
            return True
        except (KafkaError, OSError, ValueError):
            time.sleep(0.05)  # Some refusals come at once.
    return False
