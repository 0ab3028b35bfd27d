"""What was last found out about a store, by those who look after it: `reports/<kind>.json`.

Audits, backups and repairs run beside a broker, or without one. What they said is left where whoever looks at the
store finds it: the console, and the next person. The last of each kind is kept; of archives, that of each target, in
`reports/archive/`.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from hashlib import sha256
from itertools import islice
from typing import Any, Final, NamedTuple

from holdfast.cluster.identity import read_cluster
from holdfast.errors import HoldfastError
from holdfast.io.clock import SystemClock
from holdfast.io.envelope import seal, unseal
from holdfast.io.objects import NotFound, Objects

PREFIX: Final = "reports/"
KINDS: Final = ("audit", "verify", "backup", "repair", "doctor")
ARCHIVE: Final = "archive"
ARCHIVES_MAX: Final = 100  # That are shown.
_FACTS_MAX: Final = 20_000
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
    about: str = ""  # Which of its kind: an archive's target.
    facts: Mapping[str, Any] = {}  # What is more than a sentence.


def leave_report(
    objects: Objects, kind: str, said: str, *, is_good: bool, about: str = "", facts: Mapping[str, Any] | None = None
) -> str | None:
    """Leave what was found out, in a store that is a cluster's; why it could not be, if so. Nothing depends on it."""
    body = {"at_ms": SystemClock().now_ms(), "is_good": is_good, "said": said[:_SAID_MAX], "host": socket.gethostname()}
    if about:
        body |= {"about": about}
    if facts:
        body |= {"facts": dict(islice(facts.items(), _FACTS_MAX))}
    try:
        read_cluster(objects)
        objects.put(_name(kind, about), [seal(_KIND, _FORMAT, body)])
    except NotFound:
        return None  # Nobody's store: there is nobody to tell.
    except HoldfastError as failure:
        return str(failure)
    return None


def _name(kind: str, about: str) -> str:
    return f"{PREFIX}{kind}/{sha256(about.encode()).hexdigest()[:16]}.json" if about else f"{PREFIX}{kind}.json"


def last_reports(objects: Objects) -> Iterator[Report]:
    """The last of each kind, as far as there is one. One that cannot be read says so itself."""
    for kind in KINDS:
        yield from _read(objects, kind, _name(kind, ""))


def archive_reports(objects: Objects) -> Iterator[Report]:
    """The last run of each archive."""
    for each in islice(objects.list(f"{PREFIX}{ARCHIVE}/"), ARCHIVES_MAX):
        yield from _read(objects, ARCHIVE, each.name)


def report_about(objects: Objects, kind: str, about: str) -> Report | None:
    """The last one, if it is there."""
    return next(_read(objects, kind, _name(kind, about)), None)


def _read(objects: Objects, kind: str, name: str) -> Iterator[Report]:
    try:
        body = unseal(name, _KIND, _FORMAT, objects.get(name))
        facts = body.get("facts")
        yield Report(
            kind,
            int(body["at_ms"]),
            bool(body["is_good"]),
            str(body["said"]),
            str(body["host"]),
            str(body.get("about", "")),
            facts if isinstance(facts, dict) else {},
        )
    except NotFound:
        return
    except (HoldfastError, KeyError, TypeError, ValueError) as failure:
        yield Report(kind, -1, is_good=False, said=f"its report cannot be read: {failure}", host="")
