"""What was last found out about a store, by those who look after it: `reports/<kind>.json`.

Audits, backups and repairs run beside a broker, or without one. What they said is left where whoever looks at the
store finds it: the console, and the next person. The last of each kind is kept.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Final, NamedTuple

from holdfast.cluster.identity import read_cluster
from holdfast.errors import HoldfastError
from holdfast.io.clock import SystemClock
from holdfast.io.envelope import seal, unseal
from holdfast.io.objects import NotFound, Objects

PREFIX: Final = "reports/"
KINDS: Final = ("audit", "verify", "backup", "repair")
_KIND: Final = "report"
_FORMAT: Final = 1
_SAID_MAX: Final = 2000


class Report(NamedTuple):
    """One of them."""

    kind: str
    at_ms: int
    is_good: bool
    said: str  # In a sentence.
    host: str  # Where it ran.


def leave_report(objects: Objects, kind: str, said: str, *, is_good: bool) -> str | None:
    """Leave what was found out, in a store that is a cluster's; why it could not be, if so. Nothing depends on it."""
    body = {"at_ms": SystemClock().now_ms(), "is_good": is_good, "said": said[:_SAID_MAX], "host": socket.gethostname()}
    try:
        read_cluster(objects)
        objects.put(f"{PREFIX}{kind}.json", [seal(_KIND, _FORMAT, body)])
    except NotFound:
        return None  # Nobody's store: there is nobody to tell.
    except HoldfastError as failure:
        return str(failure)
    return None


def last_reports(objects: Objects) -> Iterator[Report]:
    """The last of each kind, as far as there is one. One that cannot be read says so itself."""
    for kind in KINDS:
        name = f"{PREFIX}{kind}.json"
        try:
            body = unseal(name, _KIND, _FORMAT, objects.get(name))
            yield Report(kind, int(body["at_ms"]), bool(body["is_good"]), str(body["said"]), str(body["host"]))
        except NotFound:
            continue
        except (HoldfastError, KeyError, TypeError, ValueError) as failure:
            yield Report(kind, -1, is_good=False, said=f"its report cannot be read: {failure}", host="")
