"""Failures of the libraries under a job, as one sentence: theirs are of many classes, and none of them ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.errors import HoldfastError, Unavailable
from holdfast.extras import advice


@contextmanager
def in_one_sentence() -> Iterator[None]:
    """Turn what a library raises into a failure that is told in one sentence."""
    try:
        yield
    except (HoldfastError, OSError):
        raise
    except Exception as failure:
        if isinstance(failure, ModuleNotFoundError) and advice(failure):
            raise  # It is told with the command that installs it.
        library = type(failure).__module__.partition(".")[0].strip("_")
        said = next((line.strip() for line in str(failure).splitlines() if line.strip()), "it does not say why")
        raise Unavailable(f"{library} failed: {type(failure).__name__}: {said}") from failure
