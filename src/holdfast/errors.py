"""Errors, named by what the caller should do.

    HoldfastError
    ├── Rejected      fix the request; retrying cannot help
    ├── Unavailable   retry later, with backoff
    ├── Fenced        stop: a writer with a higher epoch owns this
    ├── Stopped       stop: this part has failed for good and must be reopened
    └── Corrupt       stop and repair: stored bytes are not what was written

Packages derive their own errors from these five; each carries its facts as fields, so that no caller parses a message.
"""

from __future__ import annotations

from collections.abc import Iterable


class HoldfastError(Exception):
    """The root of every error that Holdfast raises on purpose."""


class Rejected(HoldfastError):
    """Fix the request; retrying cannot help."""


class Unavailable(HoldfastError):
    """Retry later, with backoff."""


class Fenced(HoldfastError):
    """Stop: a writer with a higher epoch owns this."""


class Stopped(HoldfastError):
    """Stop: this part has failed for good; reopen it."""


class Corrupt(HoldfastError):
    """Stop and repair: stored bytes are not what was written."""


def nearest(name: str, known: Iterable[str]) -> str:
    """`, did you mean …?` for whoever has mistyped a name, or nothing where none that is known is near."""
    from difflib import get_close_matches  # Here: few mistype.

    by_lower = {each.lower(): each for each in known}
    found = get_close_matches(name.lower(), by_lower, 1, 0.6)
    return f", did you mean {by_lower[found[0]]}?" if found else ""
