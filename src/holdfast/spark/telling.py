"""Errors of ours as Spark tells them: the sentence first, and where it came from after it.

Spark makes one text of whatever fails in Python: the traceback, and the sentence at its end. It leaves the traceback
out where it is told so by an environment variable, which is set here for errors that are written for people, and taken
back at the next call: these have their traceback as a note. A worker ends with the error that it told, so nobody else's
errors lose theirs.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.errors import HoldfastError

_HIDE = "SPARK_HIDE_TRACEBACK"
_OURS = "holdfast"  # The value by which we know that it was us.


@contextmanager
def sentence_first() -> Iterator[None]:
    """For whatever Spark calls, on the driver and on executors."""
    if os.environ.get(_HIDE) == _OURS:
        del os.environ[_HIDE]
    try:
        yield
    except HoldfastError as failure:
        if _HIDE not in os.environ:
            failure.add_note("".join(traceback.format_exception(failure)))
            os.environ[_HIDE] = _OURS
        raise
