"""Which names and ranges an object store takes: the same in every store, so that what works in one works in all.

A name is one or more parts with `/` between them. A part is not empty, does not start with a dot (a dot leads out of
the folder, or hides what a store keeps for itself), has no control characters, no backslash, and at most 200 bytes of
UTF-8. A whole name has at most 900 bytes: S3 stops at 1,024 and takes the store's own prefix from that.
"""

from __future__ import annotations

import re

from holdfast.errors import Rejected

PRIVATE = ("auth", "secrets")  # Folders that no other user of a machine may look into: who may log in is there.
CLUSTER = "cluster.json"  # The object that says whose store it is.

_PART_SIZE_MAX = 200
_NAME_SIZE_MAX = 900
_ILLEGAL = re.compile(r"[\\\x00-\x1f\x7f]")


class BadName(Rejected):
    """Not a name an object can have."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name!r} cannot name an object: {reason}")
        self.name = name
        self.reason = reason


def check_name(name: str) -> None:
    """Raise BadName unless an object can have this name."""
    _check_size(name)
    for part in name.split("/"):
        if not part:
            raise BadName(name, "a part of it is empty")
        _check_part(name, part)


def check_prefix(prefix: str) -> None:
    """Raise BadName unless a name can start like this. A prefix may end anywhere, also with `/` or in a part."""
    _check_size(prefix)
    *folders, start = prefix.split("/")
    for part in folders:
        if not part:
            raise BadName(prefix, "a part of it is empty")
        _check_part(prefix, part)
    _check_part(prefix, start)


def is_name(name: str) -> bool:
    """Whether an object can have this name."""
    try:
        check_name(name)
    except BadName:
        return False
    return True


def clip(start: int, end: int | None, size: int) -> tuple[int, int]:
    """The part of the range `[start, end)` that an object of `size` bytes has; past its end there is none."""
    check_range(start, end)
    end = size if end is None else min(end, size)
    return (start, end) if start < end else (0, 0)


def check_range(start: int, end: int | None) -> None:
    """Refuse ranges that count from the end, as slices do: no store is asked for them on purpose."""
    if start < 0 or (end is not None and end < 0):
        raise Rejected(f"bytes {start} to {end} are not a range of an object")


def _check_size(name: str) -> None:
    if _utf8_size(name, name) > _NAME_SIZE_MAX:
        raise BadName(name, f"it has more than {_NAME_SIZE_MAX} bytes")


def _check_part(name: str, part: str) -> None:
    if part.startswith("."):
        raise BadName(name, "a part of it starts with a dot")
    if _ILLEGAL.search(part):
        raise BadName(name, "it has a backslash or a control character")
    if _utf8_size(name, part) > _PART_SIZE_MAX:
        raise BadName(name, f"a part of it has more than {_PART_SIZE_MAX} bytes")


def _utf8_size(name: str, text: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise BadName(name, "it is not UTF-8") from None
