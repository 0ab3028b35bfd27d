"""One thing that a repair has found, and the token by which all of them are accepted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import NamedTuple


class Item(NamedTuple):
    """What is damaged, missing or lost. A range is one of bytes, entries or offsets, as the kind says.

    Kinds: `bytes` and `chunk` (of the write-ahead log), `entries`, `user data`, `manifest`, `segment`, `metadata`,
    `auth` (users and rules), `offsets` (records that are lost), `diverged` (records that another leader's have
    replaced), `restored` (records that come back from quarantine), `topic`.
    """

    kind: str
    where: str  # A file, an object, or a partition by its topic's name.
    what: str
    start: int | None = None
    end: int | None = None

    @property
    def is_loss(self) -> bool:
        """Whether records are lost by this itself; damage is only the cause of it."""
        return self.kind in ("offsets", "diverged", "entries", "topic", "metadata", "auth")

    def __str__(self) -> str:
        span = "" if self.start is None else f" [{self.start}, {self.end})"
        return f"{'LOST' if self.is_loss else 'found'}  {self.kind}{span} of {self.where}: {self.what}"


def token_of(items: Sequence[Item]) -> str:
    """A name for exactly these items: another damage has another one."""
    text = json.dumps(sorted(map(list, items), key=repr))
    return hashlib.sha256(text.encode()).hexdigest()[:12]
