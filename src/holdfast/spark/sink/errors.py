"""What can go wrong when Spark writes to topics. In every case nothing of the job is visible.

Rejected
├── BadColumns           the data frame has no value, or a column of the wrong type
├── BadSinkOption            an option is missing or wrong
├── NoTopic              a row without a topic
├── NoSuchPartition      a row for a partition that its topic does not have
├── RowTooLarge          a row that its topic does not take
├── HeaderWithoutKey     a header needs a key
├── CommitTooLarge       more bytes than one transaction may have
├── CommitTooSlow        the transaction would have timed out
├── StagedGone           what the executors have staged is not where the driver looks
└── BatchGoneBack        a batch older than the one that was written last
Fenced
└── SinkTakenOver        another run of the query writes with this sink id
"""

from __future__ import annotations

from holdfast.errors import Fenced, Rejected


class BadColumns(Rejected):
    """The data frame's columns cannot be written."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{why}. Columns that can be written: key, value, headers, topic, partition, timestamp")
        self.why = why


class BadSinkOption(Rejected):
    """An option is missing or wrong."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"option {name}: {why}")
        self.name = name
        self.why = why


class NoTopic(Rejected):
    """A row names no topic."""

    def __init__(self, count: int) -> None:
        super().__init__(f"{count} rows of a task have no topic: fill the column topic, or give the option topic")
        self.count = count


class NoSuchPartition(Rejected):
    """A row names a partition that its topic does not have."""

    def __init__(self, topic: str, partition: int, partitions: int) -> None:
        super().__init__(f"a row is for partition {partition} of topic {topic}, which has {partitions}, from 0 on")
        self.topic = topic
        self.partition = partition
        self.partitions = partitions


class RowTooLarge(Rejected):
    """A row is larger than its topic allows."""

    def __init__(self, topic: str, size: int, size_max: int) -> None:
        super().__init__(
            f"a row for topic {topic} makes a batch of {size} bytes, max.message.bytes allows {size_max}: "
            "raise it for the topic, or shorten the row"
        )
        self.topic = topic
        self.size = size
        self.size_max = size_max


class HeaderWithoutKey(Rejected):
    """A header has no key."""

    def __init__(self, count: int) -> None:
        super().__init__(f"{count} headers of a task have no key: Kafka needs one, an empty one will do")
        self.count = count


class CommitTooLarge(Rejected):
    """More was staged than one transaction may hold."""

    def __init__(self, size: int, size_max: int) -> None:
        super().__init__(
            f"{size} bytes were staged, one transaction takes {size_max}: write less at a time "
            "(maxOffsetsPerTrigger on the source), or raise the option maxCommitBytes"
        )
        self.size = size
        self.size_max = size_max


class CommitTooSlow(Rejected):
    """The transaction would have timed out."""

    def __init__(self, seconds: float, written: int, size: int, timeout_ms: int) -> None:
        super().__init__(
            f"{written} of {size} bytes took {seconds:.0f} s; the transaction ends after {timeout_ms / 1000:.0f} s, "
            "so it was aborted: write less at a time, or raise the option kafka.transaction.timeout.ms"
        )
        self.seconds = seconds
        self.written = written
        self.size = size
        self.timeout_ms = timeout_ms


class StagedGone(Rejected):
    """A staged object is not there."""

    def __init__(self, name: str, url: str) -> None:
        super().__init__(
            f"{name} was staged and is not in {url}: driver and executors must share the staging place, "
            "and a job must end within the grace of staged objects"
        )
        self.name = name
        self.url = url


class BatchGoneBack(Rejected):
    """A batch comes that is older than the last one written."""

    def __init__(self, sink: str, batch: int, recorded: int) -> None:
        super().__init__(
            f"sink {sink} has written batch {recorded} of this query and now gets batch {batch}: its checkpoint "
            "was put back to an older state. Start with a new checkpoint from where the topic ends"
        )
        self.sink = sink
        self.batch = batch
        self.recorded = recorded


class SinkTakenOver(Fenced):
    """Another run writes with this sink id."""

    def __init__(self, sink: str, run: str, owner: str) -> None:
        super().__init__(
            f"sink {sink} was taken over from run {run} by run {owner}: stop this one, or give it its own sinkId"
        )
        self.sink = sink
        self.run = run
        self.owner = owner
