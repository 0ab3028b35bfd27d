"""What topics may be called, how many partitions they may have, and how much room all of them in the metadata."""

from __future__ import annotations

import re
from collections.abc import Mapping

from holdfast.cluster.metadata import Topic
from holdfast.errors import Rejected

PARTITIONS_MAX = 10_000  # Of one topic.
ALL_PARTITIONS_MAX = 50_000
METADATA_SIZE_MAX = 32 << 20
_ROW_SIZE = 64  # Of a topic or a quota, besides its texts.
_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")


class TopicNameInvalid(Rejected):
    """No topic may have this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} is no name for a topic: 1 to 249 letters, digits, dots, dashes and underscores")
        self.name = name


class TopicNameCollides(Rejected):
    """Another topic's name differs only in dots and underscores, which are the same in names of metrics."""

    def __init__(self, name: str, other: str) -> None:
        super().__init__(f"topic {name!r} collides with {other!r}, which is there: dots and underscores count as equal")
        self.name = name
        self.other = other


class PartitionCountInvalid(Rejected):
    """A topic cannot have so many partitions."""

    def __init__(self, count: int, reason: str) -> None:
        super().__init__(f"{count} partitions: {reason}")
        self.count = count


class MetadataFull(Rejected):
    """Topics and quotas need more room than the metadata may have."""

    def __init__(self, size_max: int) -> None:
        super().__init__(f"the names and configs of all topics and quotas have {size_max} bytes, no more are allowed")
        self.size_max = size_max


def check_name(name: str) -> None:
    """Whether a topic may be called so."""
    if not _NAME.fullmatch(name) or name in (".", ".."):
        raise TopicNameInvalid(name)


def plain_name(name: str) -> str:
    """The same for all names that collide."""
    return name.replace(".", "_")


def size_of(name: str, configs: Mapping[str, str]) -> int:
    """About what a topic needs in the metadata."""
    return _ROW_SIZE + len(name) + sum(len(key) + len(value) for key, value in configs.items())


class TopicLimits:
    """Counts all topics, and says whether there may be more."""

    def __init__(self, size_max: int, partitions_max: int) -> None:
        self._size_max = size_max
        self._partitions_max = partitions_max
        self._size = 0  # Bytes that all topics need in the metadata, about.
        self._partitions = 0
        self._quotas: tuple[Mapping[str, Mapping[str, float]], int] = {}, 0  # And their size.

    def count(self, topic: Topic, sign: int) -> None:
        """A topic comes, or goes."""
        self._size += sign * size_of(topic.name, topic.configs)
        self._partitions += sign * topic.partitions

    def check_partitions(self, more: int) -> None:
        if self._partitions + more > self._partitions_max:
            reason = f"there are {self._partitions} in all, and {self._partitions_max} are allowed"
            raise PartitionCountInvalid(more, reason)

    def check_size(self, more: int, quotas: Mapping[str, Mapping[str, float]], others_size: int) -> None:
        """Whether topics, quotas and what else the metadata holds may grow so much."""
        if quotas is not self._quotas[0]:  # Many topics may be asked for in a row.
            self._quotas = quotas, sum(map(len, quotas)) + _ROW_SIZE * len(quotas)
        if more > 0 and self._size + self._quotas[1] + others_size + more > self._size_max:
            raise MetadataFull(self._size_max)
