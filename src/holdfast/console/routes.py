"""The table of routes: path, page, the right it needs, what it costs. The reference page is made from it.

Whatever asks for `text/html` gets the shell that draws the page; all others get its JSON, or with
`Accept: text/event-stream` the JSON of each second.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

from holdfast.console.parts import Parts
from holdfast.console.visit import Visitor


class Visit(NamedTuple):
    """Somebody looks at a page."""

    parts: Parts
    visitor: Visitor
    names: Mapping[str, str]  # From the path.
    query: Mapping[str, str]


Page: TypeAlias = Callable[[Visit], Awaitable[dict[str, Any]]]


class PageRight(Enum):
    """What a visitor must be allowed to."""

    NONE = "none: it tells of nothing that is anybody's"
    LISTED = "none: what the visitor may not describe is left out"
    CLUSTER = "Describe Cluster"
    DESCRIBE_TOPIC = "Describe Topic"
    READ_TOPIC = "Read Topic"
    READ_TOPICS = "Read Topic, each of those that it names"
    DESCRIBE_GROUP = "Describe Group"


class Route(NamedTuple):
    """One row."""

    path: str
    page: Page
    right: PageRight
    shows: str
    cost: str
    query: Mapping[str, str] = {}
    example: str = ""  # A query with which it answers, where it needs one.
    is_scan: bool = False  # One of the few that read much at once.

    @property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", self.path))
