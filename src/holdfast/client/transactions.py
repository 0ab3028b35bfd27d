"""Transactions, with partitions added by name: every broker with transactions understands that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from holdfast.client.admin.group_offsets import topics_of
from holdfast.client.codes import check, soon
from holdfast.client.nodes import GROUP, TRANSACTION, Nodes
from holdfast.client.partition import Pair, by_topic
from holdfast.protocol.api import Key
from holdfast.protocol.generated.add_offsets_to_txn import AddOffsetsToTxnRequest
from holdfast.protocol.generated.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from holdfast.protocol.generated.describe_producers import DescribeProducersRequest, TopicRequest
from holdfast.protocol.generated.end_txn import EndTxnRequest
from holdfast.protocol.generated.init_producer_id import InitProducerIdRequest
from holdfast.protocol.generated.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from holdfast.protocol.generated.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from holdfast.types import TopicPartition


class ProducerIdentity(NamedTuple):
    """Who writes: batches carry the two numbers, and a higher epoch of the same id fences a lower one."""

    id: int
    epoch: int


def init_producer_id(nodes: Nodes, transactional_id: str | None, timeout_ms: int) -> ProducerIdentity:
    """A producer's id. With a transactional id it ends what an earlier holder left open, and fences that one."""
    connection = nodes.controller() if transactional_id is None else nodes.coordinator(TRANSACTION, transactional_id)
    request = InitProducerIdRequest(
        transactional_id=transactional_id, transaction_timeout_ms=timeout_ms, producer_id=-1, producer_epoch=-1
    )
    answer = connection.ask(Key.INIT_PRODUCER_ID, request)
    whose = f"for {transactional_id}" if transactional_id else "(who may write to a topic gets one)"
    check(f"a producer id {whose}", answer.error_code)
    return ProducerIdentity(answer.producer_id, answer.producer_epoch)


def add_partitions(nodes: Nodes, transactional_id: str, producer: ProducerIdentity, pairs: Iterable[Pair]) -> None:
    """Partitions that the transaction is going to write to."""
    topics = [AddPartitionsToTxnTopic(name=name, partitions=numbers) for name, numbers in by_topic(pairs).items()]
    answer = nodes.coordinator(TRANSACTION, transactional_id).ask(
        Key.ADD_PARTITIONS_TO_TXN,
        AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=transactional_id,
            v3_and_below_producer_id=producer.id,
            v3_and_below_producer_epoch=producer.epoch,
            v3_and_below_topics=topics,
        ),
    )
    for each in answer.results_by_topic_v3_and_below:
        for part in each.results_by_partition:
            pair = TopicPartition(each.name, part.partition_index)
            check(f"add {pair} to transaction {transactional_id}", part.partition_error_code)


def txn_offset_commit(
    nodes: Nodes,
    transactional_id: str,
    producer: ProducerIdentity,
    group: str,
    offsets: Mapping[Pair, tuple[int, str]],
) -> None:
    """Offsets (each with a text) of a group, committed when the transaction is."""
    add = AddOffsetsToTxnRequest(
        transactional_id=transactional_id, producer_id=producer.id, producer_epoch=producer.epoch, group_id=group
    )
    what = f"add offsets of {group} to transaction {transactional_id}"
    check(what, nodes.coordinator(TRANSACTION, transactional_id).ask(Key.ADD_OFFSETS_TO_TXN, add).error_code)
    topics = topics_of(TxnOffsetCommitRequestTopic, TxnOffsetCommitRequestPartition, offsets)
    answer = nodes.coordinator(GROUP, group).ask(
        Key.TXN_OFFSET_COMMIT,
        TxnOffsetCommitRequest(
            transactional_id=transactional_id,
            group_id=group,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            generation_id=-1,
            member_id="",
            group_instance_id=None,
            topics=topics,
        ),
    )
    for each in answer.topics:
        for part in each.partitions:
            pair = TopicPartition(each.name, part.partition_index)
            check(f"commit the offset of {pair} in transaction {transactional_id}", part.error_code)


def end_txn(nodes: Nodes, transactional_id: str, producer: ProducerIdentity, *, commit: bool) -> None:
    """Commit or abort. A repeat by the same producer is harmless."""
    request = EndTxnRequest(
        transactional_id=transactional_id, producer_id=producer.id, producer_epoch=producer.epoch, committed=commit
    )
    answer = nodes.coordinator(TRANSACTION, transactional_id).ask(Key.END_TXN, request)
    check(f"{'commit' if commit else 'abort'} transaction {transactional_id}", answer.error_code)


def write_markers(nodes: Nodes, producer: ProducerIdentity, pairs: Iterable[Pair]) -> None:
    """Abort whatever this producer has open in partitions, and let them know its epoch: what an older one still has
    on its way is refused there from now on. A repeat is harmless."""
    for connection, some in nodes.by_leader(pairs).items():
        topics = [
            WritableTxnMarkerTopic(name=name, partition_indexes=numbers) for name, numbers in by_topic(some).items()
        ]
        wanted = WritableTxnMarker(
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            transaction_result=False,
            topics=topics,
            coordinator_epoch=0,
        )
        for answered in connection.ask(Key.WRITE_TXN_MARKERS, WriteTxnMarkersRequest(markers=[wanted])).markers:
            for each in answered.topics:
                for part in each.partitions:
                    pair = TopicPartition(each.name, part.partition_index)
                    check(f"a marker in {pair}", soon(part.error_code))


def producers(nodes: Nodes, pairs: Iterable[Pair]) -> dict[TopicPartition, dict[int, int]]:
    """The producers that partitions remember, by id: their epochs."""

    def ask(topics: dict[str, list[int]]) -> DescribeProducersRequest:
        named = [TopicRequest(name=name, partition_indexes=numbers) for name, numbers in topics.items()]
        return DescribeProducersRequest(topics=named)

    found: dict[TopicPartition, dict[int, int]] = {}
    for pair, part in nodes.ask_leaders(Key.DESCRIBE_PRODUCERS, pairs, ask):
        check(f"the producers of {pair}", part.error_code, part.error_message)
        found[pair] = {state.producer_id: state.producer_epoch for state in part.active_producers}
    return found
