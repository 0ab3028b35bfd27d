"""What a broker must hold, as its clients know it: plain dicts, and the sentences of a crash test.

"An acknowledged record was lost." "A ghost came back." A request that was never answered has happened or has not; what
a look after the next start shows is then the truth, for ever.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from uuid import UUID


@dataclass
class PartitionModel:
    """One partition's records."""

    known: dict[int, bytes] = field(default_factory=dict)  # Offset → value: acknowledged, or seen by a reader.
    sent: Counter[bytes] = field(default_factory=Counter)  # How often each value may be there.

    def acknowledge(self, base_offset: int, values: list[bytes]) -> None:
        for number, value in enumerate(values):
            self._know(base_offset + number, value)

    def _know(self, offset: int, value: bytes) -> None:
        before = self.known.setdefault(offset, value)
        assert before == value, f"Offset {offset} had {before!r}, and then {value!r}."

    def see(self, found: list[tuple[int, bytes]]) -> None:
        """What a reader was shown must stay."""
        for offset, value in found:
            assert value in self.sent, f"A ghost came back. Nobody sent {value!r}, found at {offset}."
            self._know(offset, value)

    def check(self, start: int, end: int, found: list[tuple[int, bytes]], known: dict[int, bytes]) -> None:
        """The whole partition, against what was known before it was read."""
        lost = sorted(offset for offset in known if not start <= offset < end)
        assert not lost, f"An acknowledged record was lost. {known[lost[0]]!r} at {lost[0]} is not in [{start}, {end})."
        offsets = [offset for offset, _ in found]
        assert offsets == list(range(start, end)), f"Offsets [{start}, {end}) are not there once each: {offsets}"
        self.see(found)
        doubled = [value for value, count in Counter(value for _, value in found).items() if count > self.sent[value]]
        assert not doubled, f"A record is there too often: {doubled[:3]}"
        _check_order(value for _, value in found)


def _check_order(values: object) -> None:
    """Values are `producer:number`; each producer's numbers rise."""
    last: dict[bytes, int] = {}
    for value in values:  # type: ignore[attr-defined]
        producer, number = value.split(b":")
        assert int(number) > last.get(producer, -1), f"The order does not hold: {value!r} after {last[producer]}."
        last[producer] = int(number)


@dataclass
class TopicModel:
    """One topic, from its creation to its deletion. One of the same name that is made later is another one."""

    name: str
    topic_id: UUID
    count: int  # Partitions it is known to have.
    count_max: int  # That somebody has asked for.
    leaving: bool = False  # Somebody has asked to delete it.
    gone: bool = False
    partitions: dict[int, PartitionModel] = field(default_factory=dict)

    def partition(self, number: int) -> PartitionModel:
        return self.partitions.setdefault(number, PartitionModel())


@dataclass
class Committed:
    """What a group has committed for one partition. Its clients only ever go forward."""

    acked: int = -1
    sent: set[int] = field(default_factory=set)

    def check(self, found: int, acked: int) -> None:
        assert found >= acked, f"A committed offset went back: {acked} was acknowledged, {found} is there."
        assert found == -1 or found in self.sent, f"A committed offset came from nowhere: {found}."
        self.acked = max(self.acked, found)


@dataclass
class Model:
    """Everything that clients know."""

    topics: dict[UUID, TopicModel] = field(default_factory=dict)
    creating: dict[str, int] = field(default_factory=dict)  # Name → partitions, of requests without an answer.
    committed: dict[tuple[str, UUID, int], Committed] = field(default_factory=dict)
    producer_ids: set[int] = field(default_factory=set)
    epoch: int = 0  # The highest leader epoch that anybody was told.

    def live(self) -> list[TopicModel]:
        """Topics that are there and stay."""
        return [each for each in self.topics.values() if not each.gone and not each.leaving]

    def named(self, name: str) -> TopicModel | None:
        return next((each for each in self.topics.values() if each.name == name and not each.gone), None)

    def created(self, name: str, topic_id: UUID, count: int) -> None:
        assert topic_id not in self.topics, f"A topic's id came twice: {topic_id}"
        self.creating.pop(name, None)
        self.topics[topic_id] = TopicModel(name, topic_id, count, count)

    def deleted(self, topic: TopicModel) -> None:
        topic.gone = True
        for key in [key for key in self.committed if key[1] == topic.topic_id]:
            del self.committed[key]

    def new_producer(self, producer_id: int) -> None:
        assert producer_id not in self.producer_ids, f"Producer id {producer_id} was given twice."
        self.producer_ids.add(producer_id)

    def commits_of(self, group: str, topic: TopicModel, partition: int) -> Committed:
        return self.committed.setdefault((group, topic.topic_id, partition), Committed())

    # After a start

    def check_topics(self, found: dict[UUID, tuple[str, int]], *, started: bool = True) -> None:
        """The topics that are there, each with its name and count of partitions.

        Whether a request without a clear answer has made one, only the next start tells.
        """
        for topic in list(self.topics.values()):
            there = found.get(topic.topic_id)
            if topic.gone:
                assert there is None, f"A deleted topic came back: {topic.name}"
            elif there is None:
                assert topic.leaving, f"An acknowledged topic was lost: {topic.name}"
                self.deleted(topic)
            else:
                topic.leaving = False  # It was not deleted: from now on it stays.
                assert topic.count <= there[1] <= topic.count_max, f"{topic.name} has {there[1]} partitions"
                topic.count = topic.count_max = there[1]
        for topic_id, (name, count) in found.items():
            if topic_id not in self.topics:
                assert self.creating.get(name) == count, f"A topic came from nowhere: {name}, {count} partitions"
                self.created(name, topic_id, count)
        if started:
            self.creating.clear()

    def check_epoch(self, epoch: int, *, clean: bool) -> None:
        low = self.epoch if clean else self.epoch + 1
        assert epoch >= low, f"The leader epoch did not rise: {self.epoch}, and then {epoch}."
        self.epoch = epoch
