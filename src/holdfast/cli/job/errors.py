"""Failures of the libraries under a job, as one sentence: theirs are of many classes, and none of them ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.errors import HoldfastError, Unavailable


class LibraryFailed(Unavailable):
    """Spark, Delta, Iceberg or Arrow could not do what was asked of it."""

    def __init__(self, cause: Exception) -> None:
        said = next((line.strip() for line in str(cause).splitlines() if line.strip()), "it does not say why")
        super().__init__(
            f"{type(cause).__module__.partition('.')[0].strip('_')} failed: {type(cause).__name__}: {said}"
        )
        self.cause = cause


@contextmanager
def in_one_sentence() -> Iterator[None]:
    """Turn what a library raises into a failure that is told in one sentence."""
    try:
        yield
    except (HoldfastError, OSError):
        raise
    except Exception as failure:
        raise LibraryFailed(failure) from failure
