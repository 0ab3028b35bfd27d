"""Spark's driver: topics as a stream into files, begun again after each failure; at the end it tells what it has.

python -m tests.torture.spark_driver FOLDER HISTORIES BOOTSTRAP STORE TOPICS
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from tests.support.spark_session import start
from tests.torture.clients.seeing import short
from tests.torture.clients.streaming import STOP
from tests.torture.history import History

_EVERY = "1 second"
_FAILURES_MAX = 10  # Of the last run, which nothing disturbs but what is still settling.


class Stream:
    """One query with one checkpoint, run as often as needed."""

    def __init__(self, session: Any, folder: Path, bootstrap: str, store: str, topics: str) -> None:
        self._session = session
        self._folder = folder
        self._source = {"subscribe": topics, "startingOffsets": "earliest", "kafka.bootstrap.servers": bootstrap}
        self._store = store
        self.failures = 0

    def run(self, stop: Path, **trigger: Any) -> bool:
        """Until `stop` is there, or the query ends; whether it did without a failure."""
        places = {"path": str(self._folder / "rows"), "checkpointLocation": str(self._folder / "checkpoint")}
        try:
            rows = self._session.readStream.format("holdfast").options(**self._source).load(self._store)
            out = rows.select("topic", "partition", "offset", "value").writeStream.format("parquet").trigger(**trigger)
            query = out.options(**places).start()
            while not query.awaitTermination(1):
                if stop.exists() and "processingTime" in trigger:
                    query.stop()
            return True
        except (PySparkException, Py4JError) as failure:  # A busy machine has no time to start Python's workers.
            print(f"{time.monotonic():.1f}", str(failure)[-1000:], flush=True)
            self.failures += 1
            return False

    def tell(self, history: History) -> None:
        """All that was written: Spark's own list of files says which of them count."""
        found: dict[tuple[str, int], list[tuple[int, str]]] = defaultdict(list)
        for row in self._session.read.parquet(str(self._folder / "rows")).toLocalIterator():
            found[row.topic, row.partition].append((row.offset, short(bytes(row.value))))
        for (topic, partition), rows in found.items():
            rows.sort()
            columns = {"offsets": [each[0] for each in rows], "values": [each[1] for each in rows]}
            history.info("mirror", by="spark", topic=topic, partition=partition, **columns)
        history.info("client", failures=self.failures)


def main(folder: Path, histories: Path, bootstrap: str, store: str, topics: str) -> int:
    session = start(folder / "spark", jars=False)
    stream = Stream(session, folder, bootstrap, store, topics)
    stop = folder / STOP
    while not stop.exists():
        stream.run(stop, processingTime=_EVERY)
    for _ in range(_FAILURES_MAX):
        if stream.run(stop, availableNow=True):
            history = History(histories, "spark")
            stream.tell(history)
            history.close()
            session.stop()
            return 0
        time.sleep(1)
    return 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:]))
