"""What can be wrong with a change to the cluster's metadata.

Rejected
├── TopicUnknown
├── TopicExists
└── ProducerIdsTaken      by another process: take those behind them
"""

from __future__ import annotations

from holdfast.errors import Rejected


class TopicUnknown(Rejected):
    """There is no such topic."""

    def __init__(self, topic: str) -> None:
        super().__init__(f"there is no topic {topic}")
        self.topic = topic


class TopicExists(Rejected):
    """There is a topic of that name already."""

    def __init__(self, topic: str) -> None:
        super().__init__(f"topic {topic} is there already")
        self.topic = topic


class ProducerIdsTaken(Rejected):
    """Another process has taken these ids meanwhile."""

    def __init__(self, start: int, end: int) -> None:
        super().__init__(f"producer ids from {start} on cannot be taken: those below {end} are taken")
        self.start = start
        self.end = end
