"""From the routes that one broker tells to what each broker is asked for.

A partition that was followed before goes on from the cursor. One that was meant from the first, and whose leader never
answered yet, starts where the application wanted to: a cursor without it would let it start at its beginning. One that
came later is read from its beginning.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from holdfast.subscribe.errors import NoLeaderYet
from holdfast.subscribe.wire.messages import RoutedPartition
from holdfast.subscribe.wire.request import SOURCES_MAX, Source, Start, SubscribeRequest
from holdfast.types import ClusterPartition


class BrokerRequest(NamedTuple):
    """What one broker is asked for."""

    address: str
    asked: SubscribeRequest
    partitions: frozenset[ClusterPartition]


class Routing:
    """What a subscription remembers of routes, from one try to the next."""

    def __init__(self, start: Start) -> None:
        """`start` is where the application has asked to start."""
        self._start = start
        self._meant: dict[str, frozenset[ClusterPartition]] = {}  # From the first, by cluster.

    def requests(
        self,
        cluster_id: str,
        routes: Sequence[RoutedPartition],
        servers: Mapping[int, str],
        now: SubscribeRequest,
        begun: Collection[ClusterPartition],
    ) -> list[BrokerRequest]:
        """For each broker one, and one more for each other start that some of its partitions have.

        `now` is what is asked for from the cursor on, in which those that were `begun` are.
        """
        meant = self._meant.setdefault(cluster_id, frozenset(key_of(cluster_id, each) for each in routes))
        starts = now.start, self._start, Start(since_ms=0)
        found: dict[tuple[int, int], list[RoutedPartition]] = {}
        for route in routes:
            key = key_of(cluster_id, route)
            found.setdefault((route.broker, 0 if key in begun else 1 if key in meant else 2), []).append(route)
        return [
            BrokerRequest(_address(servers, some[0]), asked, frozenset(key_of(cluster_id, each) for each in some))
            for (_, kind), all_ in found.items()
            for asked, some in _parts(replace(now, start=starts[kind]), all_)
        ]


def _parts(
    asked: SubscribeRequest, routes: list[RoutedPartition]
) -> Iterator[tuple[SubscribeRequest, list[RoutedPartition]]]:
    topics: dict[str, list[RoutedPartition]] = {}
    for each in routes:
        topics.setdefault(each.topic, []).append(each)
    in_order = sorted(topics)
    for start in range(0, len(in_order), SOURCES_MAX):
        names = in_order[start : start + SOURCES_MAX]
        sources = tuple(Source(name, tuple(each.partition for each in topics[name])) for name in names)
        yield replace(asked, sources=sources, routed=True), [each for name in names for each in topics[name]]


def key_of(cluster_id: str, route: RoutedPartition) -> ClusterPartition:
    return ClusterPartition(cluster_id, route.topic_id, route.partition)


def _address(servers: Mapping[int, str], route: RoutedPartition) -> str:
    if route.broker not in servers:
        raise NoLeaderYet(route.name, route.broker)
    return servers[route.broker]
