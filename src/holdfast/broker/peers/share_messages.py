"""The states of share groups in messages between brokers: ReadShareGroupState, WriteShareGroupState (KIP-932)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias
from uuid import UUID

from holdfast.coordinator.share.partition import Image, OffsetRun, RecordState
from holdfast.coordinator.share.records import StoredState
from holdfast.protocol.generated import read_share_group_state as reading
from holdfast.protocol.generated import write_share_group_state as writing
from holdfast.types import PartitionId

READ_VERSION: Final = 0
WRITE_VERSION: Final = 1
_NO_ID = UUID(int=0)

StateRead: TypeAlias = tuple[str, PartitionId, int]  # A group, a partition, and the epoch of its leader.
StateWrite: TypeAlias = tuple[str, PartitionId, StoredState]


def _by_group(group_ids: Iterable[str]) -> dict[str, list[int]]:
    """Which of the questions are about a group."""
    places: dict[str, list[int]] = {}
    for place, group_id in enumerate(group_ids):
        places.setdefault(group_id, []).append(place)
    return places


def read_requests(asked: Sequence[StateRead]) -> Iterator[tuple[list[int], reading.ReadShareGroupStateRequest]]:
    """A request for each group, and which of the questions are in it, in their order."""
    for group_id, places in _by_group(each[0] for each in asked).items():
        topics = [
            reading.ReadStateData(
                topic_id=home.topic_id,
                partitions=[reading.PartitionData(partition=home.partition, leader_epoch=epoch)],
            )
            for _, home, epoch in map(asked.__getitem__, places)
        ]
        yield places, reading.ReadShareGroupStateRequest(group_id=group_id, topics=topics)


def reads_in(request: reading.ReadShareGroupStateRequest) -> Iterator[StateRead]:
    for topic in request.topics:
        for each in topic.partitions:
            yield request.group_id, PartitionId(topic.topic_id or _NO_ID, each.partition), each.leader_epoch


def read_result(home: PartitionId, code: int, said: str | None, state: StoredState) -> reading.ReadStateResult:
    return reading.ReadStateResult(
        topic_id=home.topic_id,
        partitions=[
            reading.PartitionResult(
                partition=home.partition,
                error_code=code,
                error_message=said,
                state_epoch=state.state_epoch,
                start_offset=state.image.start,
                state_batches=[reading.StateBatch(**each) for each in _batches(state.image)],
            )
        ],
    )


def read_answers(
    request: reading.ReadShareGroupStateRequest, answer: reading.ReadShareGroupStateResponse
) -> list[tuple[int, StoredState]]:
    """What is answered to each question, in their order; less if it is something else."""
    found: list[tuple[int, StoredState]] = []
    results = [(topic.topic_id, each) for topic in answer.results for each in topic.partitions]
    for (_, home, epoch), (topic_id, each) in zip(reads_in(request), results, strict=False):
        if home != PartitionId(topic_id or _NO_ID, each.partition):
            break
        image = _image(each.start_offset, each.state_batches)
        found.append((each.error_code, StoredState(image, each.state_epoch, epoch)))
    return found


def write_requests(told: Sequence[StateWrite]) -> Iterator[tuple[list[int], writing.WriteShareGroupStateRequest]]:
    """A request for each group, and which of the states are in it, in their order."""
    for group_id, places in _by_group(each[0] for each in told).items():
        topics = [
            writing.WriteStateData(
                topic_id=home.topic_id,
                partitions=[
                    writing.PartitionData(
                        partition=home.partition,
                        state_epoch=state.state_epoch,
                        leader_epoch=state.leader_epoch,
                        start_offset=state.image.start,
                        delivery_complete_count=state.image.completed,
                        state_batches=[writing.StateBatch(**each) for each in _batches(state.image)],
                    )
                ],
            )
            for _, home, state in map(told.__getitem__, places)
        ]
        yield places, writing.WriteShareGroupStateRequest(group_id=group_id, topics=topics)


def homes_in(request: writing.WriteShareGroupStateRequest) -> Iterator[PartitionId]:
    for topic in request.topics:
        for each in topic.partitions:
            yield PartitionId(topic.topic_id or _NO_ID, each.partition)


def writes_in(request: writing.WriteShareGroupStateRequest) -> Iterator[StateWrite]:
    for topic in request.topics:
        for each in topic.partitions:
            image = _image(each.start_offset, each.state_batches)
            state = StoredState(image, each.state_epoch, each.leader_epoch)
            yield request.group_id, PartitionId(topic.topic_id or _NO_ID, each.partition), state


def write_result(home: PartitionId, code: int, said: str | None) -> writing.WriteStateResult:
    result = writing.PartitionResult(partition=home.partition, error_code=code, error_message=said)
    return writing.WriteStateResult(topic_id=home.topic_id, partitions=[result])


def write_answers(
    request: writing.WriteShareGroupStateRequest, answer: writing.WriteShareGroupStateResponse
) -> list[int]:
    """The code of each, in their order; less if something else is answered."""
    codes: list[int] = []
    results = [(topic.topic_id, each) for topic in answer.results for each in topic.partitions]
    for home, (topic_id, each) in zip(homes_in(request), results, strict=False):
        if home != PartitionId(topic_id or _NO_ID, each.partition):
            break
        codes.append(each.error_code)
    return codes


def _batches(image: Image) -> list[dict[str, int]]:
    return [
        {
            "first_offset": run.first,
            "last_offset": run.end - 1,
            "delivery_state": int(run.state),
            "delivery_count": min(run.count, 32767),
        }
        for run in image.runs
    ]


def _image(start: int, batches: Iterable[reading.StateBatch | writing.StateBatch]) -> Image:
    runs = (
        OffsetRun(each.first_offset, each.last_offset + 1, RecordState(each.delivery_state), each.delivery_count)
        for each in batches
    )
    return Image(start, tuple(runs))
