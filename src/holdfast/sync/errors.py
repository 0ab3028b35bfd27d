"""What can be wrong with a sync.

Rejected
├── SameCluster         both addresses lead to one cluster
├── NothingMatches      the pattern names no topic
├── TimesNotKept        the target would put its own time on every record
├── NeedsChoice         both ways on a compacted topic, and nobody has said who wins
├── SourceWentBack      the source ends before what was copied from it
├── SourceChanged       the source has other records than those that were copied from it
├── ClusterReplaced     another cluster listens at an address than when the sync began
├── NotFenced           the target lets this sync not shut out earlier ones
└── RecordRefused       the target does not take a record
    └── RecordTooLarge  it does not fit into the target's batches
Fenced
└── TakenOver           another sync of the same direction has begun
"""

from __future__ import annotations

from holdfast.errors import Fenced, Rejected
from holdfast.types import TopicPartition


class SameCluster(Rejected):
    """Both addresses lead to one cluster."""

    def __init__(self, cluster_id: str) -> None:
        super().__init__(f"both addresses lead to cluster {cluster_id}: give the addresses of two clusters")
        self.cluster_id = cluster_id


class NothingMatches(Rejected):
    """The pattern names no topic of the source."""

    def __init__(self, pattern: str, address: str, known: list[str]) -> None:
        some = ", ".join(known[:5]) or "none"
        super().__init__(f"no topic at {address} matches {pattern!r}: check --topics; there is {some}")
        self.pattern = pattern
        self.address = address


class TimesNotKept(Rejected):
    """The target would put its own time on every record."""

    def __init__(self, topic: str, address: str) -> None:
        super().__init__(
            f"topic {topic} at {address} takes the broker's time for every record, so timestamps cannot be kept: "
            f"set its message.timestamp.type to CreateTime"
        )
        self.topic = topic
        self.address = address


class NeedsChoice(Rejected):
    """Both ways on compacted topics: two values of a key may cross, and somebody has to say which one stays."""

    def __init__(self, topics: list[str]) -> None:
        super().__init__(
            f"compacted both ways: {', '.join(topics)}. Two writes of one key may cross: say with --last-writer-wins "
            f"that the later one stays, or leave these topics out with --topics"
        )
        self.topics = topics


class SourceWentBack(Rejected):
    """The source ends before what was copied from it: it lost records, or is an older copy of itself."""

    def __init__(self, partition: str, position: int, end: int) -> None:
        super().__init__(
            f"{partition} ends at offset {end}, but was copied up to {position}: the source has lost records that the "
            f"target holds; bring them back, or begin anew with a topic of another name"
        )
        self.partition = partition
        self.position = position
        self.end = end


class SourceChanged(Rejected):
    """A record that was copied is another one at the source now."""

    def __init__(self, partition: str, offset: int) -> None:
        super().__init__(
            f"{partition}: the source has another record at offset {offset} than was read there before: it was set "
            f"back to an older state and written anew, so what was copied cannot be told from what was not; restore "
            f"the source, or begin anew with a topic of another name"
        )
        self.partition = partition
        self.offset = offset


class ClusterReplaced(Rejected):
    """Another cluster listens at an address than when the sync began."""

    def __init__(self, address: str, before: str, now: str | None) -> None:
        super().__init__(
            f"the cluster at {address} was {before} when this sync began, and is {now} now: start the sync again if "
            f"that is meant"
        )
        self.address = address
        self.before = before
        self.now = now


class NotFenced(Rejected):
    """The target does not let this sync shut out earlier ones, so records could be written twice."""

    def __init__(self, writer: str, where: TopicPartition) -> None:
        super().__init__(
            f"{where} at the target has not learnt the new epoch of {writer}, so an earlier sync could still write "
            f"there: allow this client to write transaction markers (cluster action on the cluster)"
        )
        self.writer = writer
        self.where = where


class RecordRefused(Rejected):
    """The target does not take a record: its partition is held until it does."""

    def __init__(self, partition: str, offset: int, sentence: str) -> None:
        super().__init__(f"{partition}: the record at offset {offset} {sentence}")
        self.partition = partition
        self.offset = offset


class RecordTooLarge(RecordRefused):
    """A record does not fit into the target's batches."""

    def __init__(self, partition: str, offset: int, size: int, size_max: int) -> None:
        super().__init__(
            partition,
            offset,
            f"takes up to {size} bytes with its origin mark, the target takes {size_max}: raise the topic's "
            f"max.message.bytes there",
        )
        self.size = size
        self.size_max = size_max


class TakenOver(Fenced):
    """Another sync of the same direction has begun."""

    def __init__(self, topic: str, source: str, target: str) -> None:
        super().__init__(
            f"another sync from {source} to {target} has begun to write topic {topic}: this one stops, since two "
            f"would write every record twice"
        )
        self.topic = topic
        self.source = source
        self.target = target
