"""What can be wrong with a change to the cluster's metadata.

Rejected
├── TopicUnknown
└── TopicExists
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
