"""A transactional producer by hand: it says exactly what a test wants, and remembers what a client would."""

from __future__ import annotations

from typing import Any

from tests.broker.wire import Wire, batch, fetch

from holdfast.protocol.api import Key
from holdfast.record.batch import split
from holdfast.record.marker import MarkerKind, read_marker
from holdfast.record.records import read_records

READ_COMMITTED = 1


class Transactor:
    """A producer of one transactional id, in one of the two ways: partitions are added by requests, or by produce."""

    def __init__(self, wire: Wire, transactional_id: str, *, implicit: bool, timeout_ms: int = 60_000) -> None:
        self.wire = wire
        self.id = transactional_id
        self.implicit = implicit
        self.timeout_ms = timeout_ms
        self.producer_id = -1
        self.epoch = -1
        self.sequences: dict[tuple[Any, int], int] = {}

    def init(self, *, version: int = 5, producer_id: int = -1, epoch: int = -1) -> int:
        """InitProducerId; the error code."""
        answer = self.wire.ask(
            Key.INIT_PRODUCER_ID,
            version,
            transactional_id=self.id,
            transaction_timeout_ms=self.timeout_ms,
            producer_id=producer_id,
            producer_epoch=epoch,
        )
        if answer.error_code == 0:
            self._become(answer.producer_id, answer.producer_epoch)
        code: int = answer.error_code
        return code

    def _become(self, producer_id: int, epoch: int) -> None:
        if (producer_id, epoch) != (self.producer_id, self.epoch):
            self.sequences = {}
        self.producer_id, self.epoch = producer_id, epoch

    def add(self, topic: str, *partitions: int, version: int = 3) -> int:
        """AddPartitionsToTxn; the error code of the first partition."""
        answer = self.wire.ask(
            Key.ADD_PARTITIONS_TO_TXN,
            version,
            v3_and_below_transactional_id=self.id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[{"name": topic, "partitions": list(partitions or (0,))}],
        )
        code: int = answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
        return code

    def records(self, topic: str, *data: bytes, partition: int = 0) -> bytes:
        """The next batch, transactional and numbered."""
        sequence = self.sequences.get((topic, partition), 0)
        return batch(
            *data,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=sequence,
            transactional=True,
        )

    def send(self, topic: str, *data: bytes, partition: int = 0, version: int | None = None) -> Any:
        """Produce into the transaction; in the explicit way the partition must have been added."""
        records = self.records(topic, *data, partition=partition)
        answer = self.send_records(topic, records, partition=partition, version=version)
        if answer.error_code == 0:
            self.sequences[topic, partition] = self.sequences.get((topic, partition), 0) + len(data)
        return answer

    def send_records(self, topic: str, records: bytes, *, partition: int = 0, version: int | None = None) -> Any:
        """Produce these very bytes; the partition's answer."""
        answer = self.wire.ask(
            Key.PRODUCE,
            version or (12 if self.implicit else 10),
            transactional_id=self.id,
            acks=-1,
            timeout_ms=5000,
            topic_data=[{"name": topic, "partition_data": [{"index": partition, "records": records}]}],
        )
        [[found]] = [each.partition_responses for each in answer.responses]
        return found

    def write(self, topic: str, *data: bytes, partition: int = 0) -> None:
        """Add the partition, if that is to be said, and produce; both must succeed."""
        if not self.implicit:
            assert self.add(topic, partition) == 0
        assert self.send(topic, *data, partition=partition).error_code == 0

    def end(self, *, commit: bool, version: int | None = None, epoch: int | None = None) -> int:
        """EndTxn; the error code."""
        version = version if version is not None else (5 if self.implicit else 4)
        answer = self.wire.ask(
            Key.END_TXN,
            version,
            transactional_id=self.id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch if epoch is None else epoch,
            committed=commit,
        )
        if answer.error_code == 0 and version >= 5:
            self._become(answer.producer_id, answer.producer_epoch)
        code: int = answer.error_code
        return code

    def add_offsets(self, group: str, *, version: int = 4) -> int:
        answer = self.wire.ask(
            Key.ADD_OFFSETS_TO_TXN,
            version,
            transactional_id=self.id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            group_id=group,
        )
        code: int = answer.error_code
        return code

    def commit_offset(
        self, group: str, topic: str, offset: int, *, version: int | None = None, member: str = "", generation: int = -1
    ) -> int:
        """TxnOffsetCommit of one partition; its error code."""
        answer = self.wire.ask(
            Key.TXN_OFFSET_COMMIT,
            version if version is not None else (5 if self.implicit else 4),
            transactional_id=self.id,
            group_id=group,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            generation_id=generation,
            member_id=member,
            topics=[{"name": topic, "partitions": [{"partition_index": 0, "committed_offset": offset}]}],
        )
        [[found]] = [each.partitions for each in answer.topics]
        code: int = found.error_code
        return code


def committed(wire: Wire, topic: str, partition: int = 0) -> list[bytes | None]:
    """What a committed reader gets, as a client makes it of the answer: without what was aborted."""
    answer = fetch(wire, topic, isolation_level=READ_COMMITTED, partitions=(partition,))
    return visible(answer)


def uncommitted(wire: Wire, topic: str, partition: int = 0) -> list[bytes | None]:
    """What a reader gets who does not ask what became of it."""
    return values_of_data(fetch(wire, topic, partitions=(partition,)).records)


def values_of_data(records: bytes | None) -> list[bytes | None]:
    return [
        record.value for header, data in split(records or b"") if not header.is_control for record in read_records(data)
    ]


def visible(answer: Any) -> list[bytes | None]:
    """Leave out what the answer says was aborted, by the rules that clients follow."""
    waiting = sorted(answer.aborted_transactions or [], key=lambda each: each.first_offset)
    aborting: set[int] = set()
    found: list[bytes | None] = []
    for header, data in split(answer.records or b""):
        while waiting and waiting[0].first_offset <= header.base_offset:
            aborting.add(waiting.pop(0).producer_id)
        if header.is_control:
            if read_marker(data).kind == MarkerKind.ABORT:
                aborting.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in aborting):
            found += [record.value for record in read_records(data)]
    return found
