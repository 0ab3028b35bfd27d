"""Which topics a direction copies, and making them at the target as they are at the source."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from uuid import UUID

from holdfast.client import Client, TopicInfo
from holdfast.client.errors import Refused
from holdfast.errors import Rejected
from holdfast.protocol.codes import Code
from holdfast.sync.errors import NeedsChoice, NothingMatches, TimesNotKept
from holdfast.units import counted

log = logging.getLogger(__name__)

EVERYTHING = ("*",)
NO_ID = UUID(int=0)  # Of topics in clusters that give none.

OURS = "holdfast."  # Settings that other brokers do not know.
_TABLE = "holdfast.table."
_TIMES = "message.timestamp.type"
_BROKERS_TIME = "LogAppendTime"
_INTERNAL = "__"
_LARGEST = "max.message.bytes"
_BATCH_SIZE_MAX = 1 << 20  # Where a broker does not say.


@dataclass(frozen=True, slots=True)
class PlannedTopic:
    """One topic of a direction: at the source, and at the target, where it may still have to be made."""

    source: TopicInfo
    target: TopicInfo | None
    configs: dict[str, str]  # Those that it would be made with.

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def partition_count(self) -> int:
        return len(self.source.partitions)

    @property
    def missing_partitions(self) -> int:
        return max(self.partition_count - (len(self.target.partitions) if self.target else 0), 0)


def check_patterns(patterns: Sequence[str]) -> tuple[str, ...]:
    """Patterns with * and ?, as they were given."""
    for each in patterns:
        if not each or any(letter.isspace() for letter in each):
            raise Rejected(f"--topics {each!r} is no pattern: write topic names, with * and ? for what may vary")
    return tuple(patterns) or EVERYTHING


def list_topics(client: Client) -> dict[str, TopicInfo]:
    """All topics that can be copied: internal ones never are."""
    found = client.metadata().topics
    return {name: topic for name, topic in found.items() if not topic.is_internal and not name.startswith(_INTERNAL)}


def matching(topics: Iterable[str], patterns: Sequence[str]) -> list[str]:
    """The names that any of the patterns matches."""
    return sorted(name for name in topics if any(fnmatchcase(name, each) for each in patterns))


def check_matches(topics: Iterable[str], patterns: Sequence[str], address: str) -> list[str]:
    """The same; a pattern that matches nothing is an error."""
    names = sorted(topics)
    for each in patterns:
        if not matching(names, [each]):
            raise NothingMatches(each, address, names)
    return matching(names, patterns)


def plan(source: Client, target: Client, choose: Callable[[Iterable[str]], list[str]]) -> list[PlannedTopic]:
    """What is to be copied, and what is there of it."""
    here, there = list_topics(source), list_topics(target)
    planned = []
    for name in choose(here):
        configs = {} if name in there else to_copy(source.own_configs(name))
        planned.append(PlannedTopic(here[name], there.get(name), configs))
    return planned


def to_copy(configs: Mapping[str, str]) -> dict[str, str]:
    """A topic that takes the broker's time is made to keep the times that records have. A table is that of one
    cluster: two would write to one place."""
    return {
        name: value
        for name, value in configs.items()
        if (name, value) != (_TIMES, _BROKERS_TIME) and not name.startswith(_TABLE)
    }


def make(target: Client, planned: PlannedTopic, address: str) -> TopicInfo:
    """Bring the topic into being at the target, with as many partitions at least."""
    count = counted(planned.partition_count, "partition")
    if planned.target is None:
        _create(target, planned)
        log.info("topic %s is new: made at %s with %s", planned.name, address, count)
    elif planned.missing_partitions:
        target.create_partitions(planned.name, planned.partition_count)
        log.info("topic %s at %s has %s now", planned.name, address, count)
    if target.describe_configs(planned.name, [_TIMES]).get(_TIMES) == _BROKERS_TIME:
        raise TimesNotKept(planned.name, address)
    return target.topic(planned.name)


def _create(target: Client, planned: PlannedTopic) -> None:
    wanted = {planned.name: planned.partition_count}
    try:
        target.create_topics(wanted, planned.configs)
    except Refused as failure:
        if failure.code == Code.INVALID_CONFIG and any(name.startswith(OURS) for name in planned.configs):
            others = {name: value for name, value in planned.configs.items() if not name.startswith(OURS)}
            target.create_topics(wanted, others)
        elif failure.code != Code.TOPIC_ALREADY_EXISTS:
            raise


def batch_size_max(client: Client, topic: str) -> int:
    """The largest batch that a topic takes now."""
    return int(client.describe_configs(topic, [_LARGEST]).get(_LARGEST) or _BATCH_SIZE_MAX)


def is_compacted(client: Client, topic: str) -> bool:
    """Whether only the last record of a key is kept."""
    return "compact" in (client.describe_configs(topic, ["cleanup.policy"]).get("cleanup.policy") or "")


def compacted_topics(clients: Sequence[Client], patterns: Sequence[str]) -> set[str]:
    """The topics that are compacted on any side."""
    return {
        name for client in clients for name in matching(list_topics(client), patterns) if is_compacted(client, name)
    }


def check_choice(clients: Sequence[Client], patterns: Sequence[str]) -> None:
    """Raise if a topic that goes both ways is compacted on either side."""
    found = compacted_topics(clients, patterns)
    if found:
        raise NeedsChoice(sorted(found))
