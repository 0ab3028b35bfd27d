"""Topics by pattern, in the syntax of RE2, which matches in a time that does not depend on the pattern's tricks."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from holdfast.coordinator.group.consumer.errors import InvalidPattern


class Matched(NamedTuple):
    """The topics that a pattern matched, and when that was looked up."""

    topics: frozenset[str]
    version: int = 0  # Of the topics.
    at_ms: int = 0


def compiled(pattern: str) -> Any:
    """A pattern that can be matched; raises InvalidPattern."""
    import re2  # Only where a pattern is used: most groups have none.

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as failure:
        reason = failure.args[0] if failure.args else "it cannot be compiled"
        raise InvalidPattern(pattern, reason.decode() if isinstance(reason, bytes) else str(reason)) from failure


def matches(pattern: str, names: Collection[str]) -> frozenset[str]:
    """The names that a pattern matches as a whole."""
    found = compiled(pattern)
    return frozenset(name for name in names if found.fullmatch(name))
