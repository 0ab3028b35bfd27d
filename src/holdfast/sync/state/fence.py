"""One writer for each topic of a direction: whoever begins shuts out whoever wrote before.

1. A transactional id of the direction and topic gives this writer a higher epoch than any earlier one had.
2. Markers carry that epoch into every partition: what an earlier writer still has on its way is refused there from now
   on. Where the target lets only brokers write markers, an empty transaction over all partitions is aborted instead:
   Apache Kafka then writes the markers itself. Whether it did is looked up, since not every broker does.

Records are then written outside of transactions, with the id's numbers: a record that is there is there for every
reader, whatever happens to the writer, and nothing that was written has to be taken back.
"""

from __future__ import annotations

import threading
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from holdfast.client import Client, ProducerIdentity
from holdfast.client.errors import ProducerFenced, Refused, TooOld
from holdfast.cluster.sync_points import CHECKPOINTS
from holdfast.protocol.codes import Code
from holdfast.record.layout import SEQUENCE_MASK
from holdfast.sync.errors import NotFenced
from holdfast.types import TopicPartition

CHECKPOINT_PARTITION = TopicPartition(CHECKPOINTS, 0)

# Behind the last epoch comes another producer id, whose markers would not shut out who writes with the old one. So
# nobody writes with the last ones: they only shut out those before. Several, since a sync may be killed, or lose its
# target, before it has.
UNUSED_EPOCHS = range(32_767 - 16, 32_768)

# Only brokers may write markers; or one is there of a coordinator, whose epoch clients do not know.
_NOT_OURS = (Code.CLUSTER_AUTHORIZATION_FAILED, Code.TRANSACTION_COORDINATOR_FENCED)


@dataclass
class FencedWriter:
    """The numbers that batches of one topic carry."""

    topic: str
    producer: ProducerIdentity
    sequences: dict[TopicPartition, int] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)  # For a partition that several threads write to.

    def sequence(self, where: TopicPartition) -> int:
        """The sequence of the partition's next batch."""
        return self.sequences.get(where, 0)

    def wrote(self, where: TopicPartition, count: int) -> None:
        """So many records were acknowledged. Only one thread writes to a partition."""
        self.sequences[where] = (self.sequence(where) + count) & SEQUENCE_MASK


def writer_id(source_cluster: str, topic_id: UUID) -> str:
    """The transactional id of a direction's topic: the target's cluster is the one that keeps it."""
    return f"holdfast-sync-{source_cluster}-{topic_id}"


def begin_writing(
    target: Client,
    name: str,
    topic: str,
    partitions: Iterable[int],
    unused: Container[int] = UNUSED_EPOCHS,
    besides: Iterable[TopicPartition] = (),
) -> FencedWriter:
    """Become the writer of these partitions, of checkpoints, and of what lies besides."""
    pairs = [*(TopicPartition(topic, number) for number in partitions), CHECKPOINT_PARTITION, *besides]
    producer = _fence(target, name, pairs)
    while producer.epoch in unused:
        producer = _fence(target, name, pairs)
    return FencedWriter(topic, producer)


def _fence(target: Client, name: str, pairs: Sequence[TopicPartition]) -> ProducerIdentity:
    try:
        return fence_by_markers(target, name, pairs)
    except (Refused, ProducerFenced) as failure:
        if failure.code not in _NOT_OURS:
            raise
    except TooOld:
        pass
    return fence_by_transaction(target, name, pairs)


def fence_by_markers(target: Client, name: str, pairs: Sequence[TopicPartition]) -> ProducerIdentity:
    """Write the markers, as a broker would."""
    producer = target.init_producer_id(name)
    target.write_markers(producer, pairs)
    return producer


def fence_by_transaction(target: Client, name: str, pairs: Sequence[TopicPartition]) -> ProducerIdentity:
    """Let the target write them."""
    fencing = target.init_producer_id(name)
    target.add_partitions(name, fencing, pairs)
    target.end_txn(name, fencing, commit=False)
    producer = target.init_producer_id(name)  # Comes back only when all markers are written.
    for where, known in target.producers(pairs).items():
        if known.get(fencing.id, -1) < fencing.epoch:
            raise NotFenced(name, where)
    return producer
