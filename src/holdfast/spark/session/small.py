"""Little data needs no Spark: a job of few bytes runs in this process, which takes no JVM and none of its start.

The tasks are the same functions, one after the other. Which way a job goes is decided when it is known what it reads.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from holdfast.spark.session.session import NO_SPARK, SessionSettings, spark_session

SMALL_SIZE_MAX = 256 << 20  # Bytes: read here in a few seconds, which is what a JVM takes to start.


class SmallFirst:
    """A session that begins when there is enough to do."""

    def __init__(self, begin: Callable[[], Any], size_max: int | None, on_here: Callable[[int], None]) -> None:
        self._begin = begin
        self._size_max = size_max  # None: whatever there is.
        self._on_here = on_here
        self._session: Any = None
        self._told = False
        self._lock = threading.Lock()  # Several jobs may run at the same time.

    @property
    def parallelism(self) -> int:
        return os.cpu_count() or 1

    def session_for(self, size: int) -> Any | None:
        """The session of Spark for a job that reads so many bytes; None: it is run here."""
        with self._lock:
            return self._session_for(size)

    def _session_for(self, size: int) -> Any | None:
        if self._session is None and (self._size_max is None or size <= self._size_max):
            if not self._told:
                self._told = True
                self._on_here(size)
            return None
        if self._session is None:
            self._session = self._begin()
        return self._session


def _has_begun() -> bool:
    """Whether this process has a session of Spark."""
    spark = sys.modules.get("pyspark.sql")
    return spark is not None and spark.SparkSession.getActiveSession() is not None


@contextmanager
def small_first(settings: SessionSettings, on_here: Callable[[int], None]) -> Iterator[Any]:
    """What `--master` says: `none`, or a Spark; without it the one that has begun, or as much as is needed."""
    if settings.master is None and not settings.conf and settings.is_local and not _has_begun():
        size_max: int | None = SMALL_SIZE_MAX
    elif settings.master == NO_SPARK:
        size_max = None
    else:
        with spark_session(settings) as session:
            yield session
        return
    with ExitStack() as stack:
        yield SmallFirst(lambda: stack.enter_context(spark_session(settings)), size_max, on_here)
