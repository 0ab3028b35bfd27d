"""Whether a store keeps put-if-absent, asked with one small object before anything depends on it.

The name is always the same, and only who put the object deletes it, after its second put. So several brokers may ask at
once, and where deletes are denied one object stays, whose presence answers the question at the next start.
"""

from __future__ import annotations

import contextlib
import logging

from holdfast.errors import Rejected, Unavailable
from holdfast.io.objects import Exists, Objects

log = logging.getLogger(__name__)

NAME = "doctor/put-if-absent"


class NoPutIfAbsent(Rejected):
    """Two writers could both believe that a name is theirs."""

    def __init__(self, store: str) -> None:
        super().__init__(
            f"the store {store} took the same name twice: it has no put-if-absent, and acknowledged records would be "
            "lost there; choose a store with conditional puts"
        )
        self.store = store


def check_put_if_absent(objects: Objects) -> None:
    """Raise NoPutIfAbsent if the store takes a name twice. One that does not answer is not refused, but it is said."""
    try:
        _check(objects)
    except Unavailable as failure:
        facts = {"event": "store_unchecked", "store": objects.url}
        log.warning("whether %s keeps put-if-absent is not known: %s", objects.url, failure, extra={"facts": facts})


def _check(objects: Objects) -> None:
    try:
        objects.put_if_absent(NAME, [b"first"])
    except Exists:
        return  # Another one asks, or could not delete it: the store said no, which is what was asked.
    try:
        objects.put_if_absent(NAME, [b"second"])
    except Exists:
        return
    else:
        raise NoPutIfAbsent(objects.url)
    finally:
        with contextlib.suppress(Unavailable):  # Denied, perhaps. It is one object, however often it is put.
            objects.delete(NAME)
