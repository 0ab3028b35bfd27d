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
