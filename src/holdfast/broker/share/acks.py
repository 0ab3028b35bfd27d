"""What members of share groups say of records: from the request to what is durable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from uuid import UUID

from holdfast.broker.guard.gate import SenderRights
from holdfast.broker.guard.rights import READ_TOPIC, NotAllowed
from holdfast.broker.net.slices import Slices
from holdfast.broker.topics import Topics
from holdfast.cluster.errors import TopicUnknown
from holdfast.coordinator.share.durable_share import DurableShareGroup, DurableSharePartition
from holdfast.coordinator.share.errors import InvalidRecordState
from holdfast.coordinator.share.led import LedShareGroup
from holdfast.coordinator.share.partition import Judged, RecordVerdict
from holdfast.errors import HoldfastError, Rejected
from holdfast.log.errors import LedElsewhere
from holdfast.log.partition.partition import PartitionLog
from holdfast.protocol.generated.share_acknowledge import AcknowledgePartition, AcknowledgeTopic
from holdfast.protocol.generated.share_fetch import FetchPartition, FetchTopic
from holdfast.types import PartitionId

NO_ID = UUID(int=0)
_BATCHES_MAX = 2_000  # Of one partition in one request.


def named(
    topics: Sequence[FetchTopic | AcknowledgeTopic],
) -> Iterator[tuple[PartitionId, FetchPartition | AcknowledgePartition]]:
    """The partitions that a request names."""
    for topic in topics:
        for partition in topic.partitions:
            yield PartitionId(topic.topic_id or NO_ID, partition.partition_index), partition


async def judged(
    topics: Sequence[FetchTopic | AcknowledgeTopic], pace: Slices, *, renews: bool
) -> dict[PartitionId, list[Judged]]:
    """What a request says of records, by partition; raises if it contradicts itself."""
    found: dict[PartitionId, list[Judged]] = {}
    async for home, partition in pace.through(named(topics)):
        for each in partition.acknowledgement_batches or ():
            if RecordVerdict.RENEW in each.acknowledge_types and not renews:
                raise Rejected("locks are renewed only by a request that says so")
            end = each.last_offset + 1
            found.setdefault(home, []).append(Judged(each.first_offset, end, each.acknowledge_types))
            if len(found[home]) > _BATCHES_MAX:
                raise Rejected(f"more than {_BATCHES_MAX} batches of one partition are acknowledged")
    return found


def check_right(topics: Topics, home: PartitionId, rights: SenderRights) -> None:
    """Raises NotAllowed, without the name that the id stands for. An id that nobody has is for others to tell."""
    opened = topics.find_id(home.topic_id)
    if opened is not None:
        rights.need(READ_TOPIC, opened.topic.name, called=str(home.topic_id))


def split_by_right(
    topics: Topics, judgements: Mapping[PartitionId, list[Judged]], rights: SenderRights
) -> tuple[dict[PartitionId, list[Judged]], dict[PartitionId, HoldfastError | None]]:
    """What may be acknowledged, and of all else why not."""
    allowed: dict[PartitionId, list[Judged]] = {}
    refused: dict[PartitionId, HoldfastError | None] = {}
    for home, batches in judgements.items():
        try:
            check_right(topics, home, rights)
            allowed[home] = batches
        except NotAllowed as failure:
            refused[home] = failure
    return allowed, refused


def find_log(topics: Topics, home: PartitionId) -> PartitionLog:
    """A partition's log; raises if there is none, or it is corrupt."""
    opened = topics.find_id(home.topic_id)
    if opened is None:
        raise TopicUnknown(str(home.topic_id))
    return opened.partition(home.partition)


def open_logs(topics: Topics, homes: Iterable[PartitionId], rights: SenderRights) -> list[PartitionLog]:
    """The logs of partitions that are here, and may be read."""
    logs = []
    for home in homes:
        opened = topics.find_id(home.topic_id)
        if opened is not None and 0 <= home.partition < len(opened.logs):
            log = opened.logs[home.partition]
            if isinstance(log, PartitionLog) and rights.sees(READ_TOPIC, opened.topic.name):
                logs.append(log)
    return logs


def split_by_leader(
    topics: Topics, judgements: Mapping[PartitionId, list[Judged]]
) -> tuple[dict[PartitionId, list[Judged]], dict[PartitionId, HoldfastError | None]]:
    """What is acknowledged here, and of all else who leads it now: what was acquired of it is nobody's any more."""
    here: dict[PartitionId, list[Judged]] = {}
    elsewhere: dict[PartitionId, HoldfastError | None] = {}
    for home, batches in judgements.items():
        try:
            if topics.is_shared:
                find_log(topics, home)
            here[home] = batches
        except LedElsewhere as failure:
            elsewhere[home] = failure
        except HoldfastError:
            here[home] = batches  # It is as unknown as with one leader.
    return here, elsewhere


async def acknowledge(
    group: DurableShareGroup | LedShareGroup,
    member_id: str,
    judgements: Mapping[PartitionId, Sequence[Judged]],
    pace: Slices,
) -> dict[PartitionId, HoldfastError | None]:
    """Take all verdicts, then wait until they are durable; of each partition what went wrong, if anything."""
    results: dict[PartitionId, HoldfastError | None] = {}
    taken: list[tuple[PartitionId, DurableSharePartition]] = []
    try:
        if judgements:
            await group.room()
    except HoldfastError as failure:
        return dict.fromkeys(judgements, failure)
    async for home, batches in pace.through(judgements.items()):
        results[home] = None
        partition: DurableSharePartition | None = group.partitions.get(home)
        try:
            if partition is None:
                raise InvalidRecordState(member_id, batches[0].first, batches[0].end)
            partition.acknowledge(member_id, batches)
            taken.append((home, partition))
        except HoldfastError as failure:
            results[home] = failure
    for home, each in taken:
        try:
            await each.durable()
        except HoldfastError as failure:
            results[home] = failure
    return results
