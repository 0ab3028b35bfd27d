"""Spark at three brokers, of which one is killed, stopped, cut off from the store and drained: both of its sources."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Message
from tests.support.reading import Place, read_messages
from tests.support.three_brokers import (
    NUMBERS,
    PARTITIONS,
    Feed,
    Pause,
    Three,
    Watch,
    gaps,
    in_order,
    stamps,
    three_brokers,
    until,
    values_of,
)

pytestmark = [pytest.mark.usefixtures("connector"), pytest.mark.slow, pytest.mark.s3, pytest.mark.timeout(900)]

COPY = "numbers-copied"
COPYING, READING = "copying", "reading"
PATIENCE = {"kafka.request.timeout.ms": "3000", "kafka.default.api.timeout.ms": "8000"}


@dataclass
class Seen:
    """All that there was at the end."""

    feed: Feed
    pauses: list[Pause]
    stored: dict[Place, Message]
    copied: dict[Place, Message]
    read: list[tuple[int, int, bytes]]  # By our source: partition, offset, value.
    progress: list[float]  # When our source had read something.
    failures: dict[str, list[str]]  # Of each query: why it had to go on from its checkpoint.


class Queries:
    """Two streams of one topic: through the connector to another topic, and from the store to files."""

    def __init__(self, spark: Any, three: Three, folder: Path) -> None:
        self._spark, self._three, self._folder = spark, three, folder
        three.make_topics(NUMBERS, COPY)
        self.feed = Feed(three.bootstrap, {NUMBERS: str})
        self._watch = Watch(three.bootstrap, NUMBERS)
        common = {"subscribe": NUMBERS, "startingOffsets": "earliest", "kafka.bootstrap.servers": three.bootstrap}
        rows = spark.readStream.format("kafka").options(**common, **PATIENCE).load()
        copied = rows.select("value", "partition").writeStream.format("kafka").option("topic", COPY)
        copied = copied.options(**{"kafka.bootstrap.servers": three.bootstrap}, **PATIENCE)
        store = {f"store.{name}": value for name, value in three.options.items()}
        rows = spark.readStream.format("holdfast").options(**common, **store).load(three.store)
        read = rows.selectExpr("partition", "offset", "cast(value as string) value").writeStream.format("json")
        read = read.option("path", str(folder / "rows"))
        self._writers = {COPYING: copied, READING: read}
        self.failures: dict[str, list[str]] = {name: [] for name in self._writers}
        self._progress: list[float] = []
        self._queries = {name: self._begin(name) for name in self._writers}

    def _begin(self, name: str) -> Any:
        writer = self._writers[name].option("checkpointLocation", str(self._folder / name))
        return writer.trigger(processingTime="1 second").start()

    def go_on(self) -> None:
        """Wait until both have read all that is there now."""
        ends = {str(where.partition): end for where, end in self._watch.ends().items()}
        for name in self._queries:
            until(
                lambda name=name: self._has_reached(name, ends),
                lambda name=name: f"{name} does not get on: {self.failures} {self._queries[name].lastProgress}",
            )

    def _has_reached(self, name: str, ends: dict[str, int]) -> bool:
        """One that has failed goes on from its checkpoint: on a busy machine Spark does not wait for its own Python."""
        query = self._queries[name]
        if not query.isActive:
            self.failures[name].append(str(query.exception()))
            self._note_progress()
            self._queries[name] = self._begin(name)
            return False
        last = query.lastProgress
        found = last and last["sources"][0]["endOffset"]
        if not found:
            return False
        offsets = (found if isinstance(found, dict) else json.loads(found))[NUMBERS]
        if name == READING:
            offsets = {number: each["offset"] for number, each in offsets["partitions"].items()}
        return all(offsets.get(number, 0) >= end for number, end in ends.items())

    def _note_progress(self) -> None:
        found = [each["timestamp"] for each in self._queries[READING].recentProgress if each["numInputRows"]]
        self._progress += [datetime.fromisoformat(each).timestamp() * 1000 for each in found]

    def finish(self) -> Seen:
        self.feed.stop()
        self.go_on()
        self._note_progress()
        self.stop()
        bootstrap = self._three.bootstrap
        rows = self._spark.read.json(str(self._folder / "rows")).collect()
        return Seen(
            feed=self.feed,
            pauses=self._three.pauses,
            stored=read_messages(bootstrap, NUMBERS, PARTITIONS, committed=True),
            copied=read_messages(bootstrap, COPY, PARTITIONS, committed=True),
            read=sorted((row.partition, row.offset, row.value.encode()) for row in rows),
            progress=sorted(set(self._progress)),
            failures=self.failures,
        )

    def stop(self) -> None:
        for each in self._queries.values():
            each.stop()
        self._watch.close()


@pytest.fixture(scope="module")
def seen(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    """One run of both."""
    folder = tmp_path_factory.mktemp("three")
    with ExitStack() as stack:
        three = three_brokers(folder, stack)
        queries = Queries(spark, three, folder)
        stack.callback(queries.stop)
        three.all_of_it(queries.go_on)
        yield queries.finish()


def test_the_connector_carries_everything_over(seen: Seen) -> None:
    """C1, C2, K1: from topic to topic: nothing is lost or in another order, and nothing doubled, unless the query began
    anew: its sink promises no more."""
    print("gaps", gaps(stamps(seen.copied), seen.pauses), seen.failures[COPYING])
    source, copied = values_of(seen.stored), values_of(seen.copied)
    seen.feed.check(NUMBERS, source)
    for partition in range(PARTITIONS):
        found = in_order(copied, partition)
        assert list(dict.fromkeys(found)) == in_order(source, partition)
        assert len(found) == len(set(found)) or seen.failures[COPYING]


def test_the_source_reads_everything_once(seen: Seen) -> None:
    """C1, C2, P2: what is stored from the store, the tail from whoever leads: each record once."""
    print("gaps", gaps([seen.progress], seen.pauses), seen.failures[READING])
    assert seen.read == sorted((*place, value) for place, value in values_of(seen.stored).items())
