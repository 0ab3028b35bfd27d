"""The producers of the model test: plain, idempotent, transactional; each is told what the plain history says."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule
from tests.log import plain
from tests.log.log_world import NOW, batch, from_producer, marker
from tests.log.plain import PlainBatch, unstamped
from tests.log.process import BATCH_SIZE_MAX, QUICK, SAFE, Process
from tests.log.slot import Slot

from holdfast.log.errors import ProducerEpochOld, SequenceGap, TransactionMismatch
from holdfast.record.batch import read_header
from holdfast.record.errors import TooLarge

REFUSALS = {
    SequenceGap: "gap",
    ProducerEpochOld: "zombie",
    TransactionMismatch: "mismatch",
}

slots = st.sampled_from([SAFE, QUICK])
sizes = st.sampled_from([1, 30, 30, 300, 1500, 5000])  # The last is larger than a segment and than a chunk.


class Producing(Process):
    """What producers do."""

    @rule(number=slots, sizes=st.lists(sizes, min_size=1, max_size=6))
    def append(self, number: int, sizes: list[int]) -> None:
        for size in sizes:
            self._append(self.slots[number], batch(*self._new_values(size), timestamp=NOW))

    @rule(
        number=slots,
        producer=st.integers(1, 3),
        epoch=st.integers(0, 1),
        distance=st.sampled_from([0, 0, 0, 0, -1, -2, -7, 1]),
        size=sizes,
        transactional=st.booleans(),
    )
    def append_idempotent(
        self, number: int, producer: int, epoch: int, distance: int, size: int, transactional: bool
    ) -> None:
        """New, repeated, too early, too old, or of a zombie: it is told what the plain history says."""
        slot = self.slots[number]
        mine = [each for each in slot.history if (each.producer, each.epoch, each.marker) == (producer, epoch, "")]
        if distance < 0 and len(mine) >= -distance:
            sent = mine[distance]
            values, sequence, transactional = [b"repeat"] * sent.count, sent.sequence, sent.transactional
        else:
            values = self._new_values(size)
            sequence = max((mine[-1].last_sequence + 1 if mine else 0) + distance, 0)
        data = from_producer(sequence, *values, number=producer, epoch=epoch, transactional=transactional)
        expected = plain.verdict(slot.history, producer, epoch, sequence, len(values), transactional)
        self._append(slot, data, expected)

    @rule(number=slots, producer=st.integers(1, 3), epoch=st.integers(0, 1), abort=st.booleans())
    def end_transaction(self, number: int, producer: int, epoch: int, abort: bool) -> None:
        slot = self.slots[number]
        assert slot.partition is not None
        known = [each.epoch for each in slot.history if each.producer == producer]
        try:
            place = slot.partition.append_marker(marker(producer, epoch, abort=abort))
        except ProducerEpochOld:
            assert epoch < known[-1]
            return
        assert not known or epoch >= known[-1]
        data = slot.partition.tail._batches[-1].data
        assert data is not None
        self._note(slot, place.base_offset, data, marker="abort" if abort else "commit")

    @rule(number=slots, sizes=st.lists(sizes, min_size=1, max_size=6))
    def append_and_fsync(self, number: int, sizes: list[int]) -> None:
        """With one in the middle that is too large: it leaves no trace."""
        self.append(number, sizes[:2])
        with pytest.raises(TooLarge):
            self._append(self.slots[number], batch(bytes(BATCH_SIZE_MAX)))
        self.append(number, sizes[2:])
        self.write()

    @rule(number=slots, sizes=st.lists(sizes, min_size=1, max_size=5), producers=st.sets(st.integers(1, 3)))
    def append_together(self, number: int, sizes: list[int], producers: set[int]) -> None:
        """Batches without a producer, and those of several, as one entry."""
        slot = self.slots[number]
        assert slot.partition is not None
        if not slot.partition.ground.journal.takes_many:
            return
        made = [batch(*self._new_values(size), timestamp=NOW) for size in sizes]
        for producer in sorted(producers):
            mine = [each for each in slot.history if each.producer == producer and each.marker == ""]
            epoch, sequence = (mine[-1].epoch, mine[-1].last_sequence + 1) if mine else (0, 0)
            values = self._new_values(30)
            if plain.verdict(slot.history, producer, epoch, sequence, len(values)) == "append":
                made.append(from_producer(sequence, *values, number=producer, epoch=epoch))
        batches = [each for data in made for each in slot.partition.check_batches(data)]
        base, end = slot.partition.append_many(batches)
        for header, checked in batches:
            self._note(slot, base, checked)
            base += header.record_count
        assert (base, self.loop is not None) == (end, True)
        ack = self.loop.create_task(slot.partition.acknowledged(end))  # type: ignore[union-attr]
        self.acks.append((slot, end, ack))

    def _new_values(self, size: int) -> list[bytes]:
        self.values += 1
        return [b"%d." % self.values + bytes(size), b"%d" % self.values][: 1 + self.values % 2]

    def _append(self, slot: Slot, data: bytearray, expected: str | PlainBatch = "append") -> None:
        partition = slot.partition
        assert partition is not None
        [(header, checked)] = partition.check_batches(data)
        try:
            place = partition.append_one(header, checked)
        except tuple(REFUSALS) as failure:
            self._check_refusal(failure, expected)
            return
        if place.repeated:
            assert isinstance(expected, PlainBatch)
            assert (place.base_offset, place.end_offset) == (expected.base, expected.end)
        else:
            assert expected == "append"
            self._note(slot, place.base_offset, checked)
        assert self.loop is not None
        ack = self.loop.create_task(partition.acknowledged(place.end_offset))
        self.acks.append((slot, place.end_offset, ack))

    @staticmethod
    def _check_refusal(failure: Exception, expected: object) -> None:
        assert REFUSALS[type(failure)] == expected

    def _note(self, slot: Slot, base: int, data: memoryview, marker: str = "") -> None:
        assert base == slot.end, "An offset was given twice, or left out."
        header = read_header(data)
        slot.history.append(
            PlainBatch(
                base,
                header.record_count,
                unstamped(header, data),
                header.producer_id,
                header.producer_epoch,
                header.base_sequence,
                header.is_transactional,
                marker,
                header.leader_epoch,
            )
        )

    @rule()
    def fsync(self) -> None:
        self.write()
