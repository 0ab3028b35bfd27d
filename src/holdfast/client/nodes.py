"""The brokers of a cluster: connections to them, and who leads or coordinates what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from holdfast.client.admin.topics import ClusterInfo, read_metadata
from holdfast.client.codes import check, failure_of
from holdfast.client.connection import Connection, Connector
from holdfast.client.errors import BrokerLost, BrokerUnreachable, NodeUnreachable, TopicNotFound
from holdfast.client.partition import Pair, by_topic
from holdfast.errors import Rejected
from holdfast.io.address import Address
from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from holdfast.protocol.message import RequestMessage
from holdfast.types import TopicPartition

T = TypeVar("T")

GROUP = 0  # Kinds of coordinator.
TRANSACTION = 1

_NOBODY = -1  # Who leads.
_FIND_MANY_FROM = 4  # FindCoordinator: from this version on by a list of keys.


class Nodes:
    """Connections by address, and what was learnt from Metadata and FindCoordinator. What is wrong is forgotten."""

    def __init__(self, connector: Connector) -> None:
        self._connector = connector
        self._open: dict[Address, Connection] = {}
        self._brokers: dict[int, Address] = {}
        self._leaders: dict[Pair, int] = {}
        self._coordinators: dict[tuple[int, str], Address] = {}
        self._silent: set[Address] = set()  # Who did not answer when last asked: others are asked first.

    @property
    def are_several(self) -> bool:
        """Whether there are several brokers, of which one may know less than another."""
        return len(self._brokers) > 1

    def any(self) -> Connection:
        """A connection to whichever broker answers first: those known, then those given.

        One that is stopped takes connections and says nothing: it must not be in the way of the others.
        """
        given = self._connector.settings
        failure: OSError | None = None
        addresses = dict.fromkeys((*self._open, *given.bootstrap_servers))
        for address in sorted(addresses, key=self._is_silent):
            try:
                return self._connection(address)
            except OSError as error:
                failure = error
            except BrokerLost:
                if len(addresses) == 1:
                    raise
                failure = TimeoutError("no answer in time")
        raise BrokerUnreachable(str(given), failure or ConnectionError("no address")) from None

    def metadata(self, topics: Iterable[str] | None, *, create: bool = False) -> ClusterInfo:
        """Ask for these topics, or all, and remember who leads."""
        wanted = None if topics is None else list(topics)
        try:
            found = read_metadata(self.any(), wanted, create=create)
        except TopicNotFound:
            if not create or len(self.metadata([]).brokers) == 1:
                raise
            found = read_metadata(self.controller(), wanted, create=True)  # Who does not lead makes nothing.
        self._brokers = dict(found.brokers)
        for topic in found.topics.values():
            for each in topic.partitions:
                self._leaders[topic.name, each.number] = each.leader
        return found

    def ask_leaders(
        self,
        key: Key,
        pairs: Iterable[Pair],
        request: Callable[[dict[str, list[int]]], RequestMessage[Any]],
        names: tuple[str, str] = ("name", "partition_index"),
    ) -> Iterator[tuple[TopicPartition, Any]]:
        """Ask each leader about its partitions, which `request` is given by topic; the answers, one by one.

        `names` are those of the fields that say which partition an answer is about.
        """
        topic, partition = names
        for connection, some in self.by_leader(pairs).items():
            for each in connection.ask(key, request(by_topic(some))).topics:
                for part in each.partitions:
                    yield TopicPartition(getattr(each, topic), getattr(part, partition)), part

    def by_leader(self, pairs: Iterable[Pair]) -> dict[Connection, list[Pair]]:
        """The partitions by the connection to their leader."""
        wanted = [(topic, partition) for topic, partition in pairs]
        unknown = {topic for topic, partition in wanted if (topic, partition) not in self._leaders}
        if unknown:
            self.metadata(sorted(unknown))
        found: dict[Connection, list[Pair]] = {}
        for pair in wanted:
            found.setdefault(self._leader(pair), []).append(pair)
        return found

    def _leader(self, pair: Pair) -> Connection:
        what = f"{pair[0]}-{pair[1]}"
        if pair not in self._leaders:
            raise failure_of(what, Code.UNKNOWN_TOPIC_OR_PARTITION, "the topic has no such partition")
        address = self._brokers.get(self._leaders[pair])
        if address is None:
            raise failure_of(what, Code.LEADER_NOT_AVAILABLE)
        return self._reach(address)

    def controller(self) -> Connection:
        """A connection to the broker that changes topics, and gives ids to producers where others do not."""
        return self._node(self.metadata([]).controller)

    def each(self, ask: Callable[[Connection], list[T]], topic: str) -> list[T]:
        """What all brokers answer together. One that is gone is left out when it leads nothing of this internal topic:
        what it had to tell is with others then, who are asked again."""
        gone: set[int] = set()
        while True:
            try:
                return self._each_but(gone, ask, topic)
            except _Gone as one:
                gone.add(one.number)

    def _each_but(self, gone: set[int], ask: Callable[[Connection], list[T]], topic: str) -> list[T]:
        found: list[T] = []
        for number in self.metadata([]).brokers:
            if number in gone:
                continue
            try:
                found += ask(self._node(number))
            except (BrokerUnreachable, BrokerLost):
                if self._may_lead(number, topic):
                    raise
                raise _Gone(number) from None
        return found

    def _may_lead(self, number: int, topic: str) -> bool:
        """Whether a broker leads a part of a topic, or nobody does: then it may be its turn."""
        try:
            parts = self.metadata([topic]).topics[topic].partitions
        except TopicNotFound:
            return False
        except Rejected:  # We may not know.
            return True
        return any(each.leader in (number, _NOBODY) for each in parts)

    def _node(self, number: int) -> Connection:
        address = self._brokers.get(number)
        if number < 0:
            raise failure_of("the cluster", Code.LEADER_NOT_AVAILABLE, "nobody leads now")
        if address is None:
            raise failure_of(f"broker {number}", Code.BROKER_NOT_AVAILABLE)
        return self._reach(address)

    def coordinator(self, kind: int, key: str) -> Connection:
        """A connection to the coordinator of a group or a transactional id."""
        known = self._coordinators.get((kind, key))
        if known is None:
            known = self._coordinators[kind, key] = self._find_coordinator(kind, key)
        return self._reach(known)

    def _find_coordinator(self, kind: int, key: str) -> Address:
        connection = self.any()
        if connection.version(Key.FIND_COORDINATOR) >= _FIND_MANY_FROM:
            answer = connection.ask(Key.FIND_COORDINATOR, FindCoordinatorRequest(key_type=kind, coordinator_keys=[key]))
            [found] = answer.coordinators
            return _address(kind, key, found)
        asked = FindCoordinatorRequest(key_type=kind, key=key)
        return _address(kind, key, connection.ask(Key.FIND_COORDINATOR, asked))

    def _reach(self, address: Address) -> Connection:
        try:
            return self._connection(address)
        except OSError as failure:
            raise NodeUnreachable(str(address), failure) from None

    def _connection(self, address: Address) -> Connection:
        found = self._open.get(address)
        if found is None or not found.is_open:
            self._open.pop(address, None)
            self._silent.add(address)
            found = self._open[address] = self._connector.connect(address)
            self._silent.discard(address)
        return found

    def _is_silent(self, address: Address) -> bool:
        """Whether it did not answer when last asked: a connection is closed by a failure, and by nothing else."""
        return address in self._silent or (address in self._open and not self._open[address].is_open)

    def forget(self) -> None:
        """Something failed: who leads and coordinates is asked again. Connections that work are kept."""
        self._leaders.clear()
        self._coordinators.clear()

    def close(self) -> None:
        for each in self._open.values():
            each.close()
        self._open.clear()


class _Gone(Exception):
    """A broker does not answer, and need not."""

    def __init__(self, number: int) -> None:
        self.number = number


class NamedBroker(Nodes):
    """Asks the broker that was named, whatever it is about; what it advertises to other clients is not looked at.

    For whoever stands before one broker, perhaps through a tunnel: the addresses it tells may lead nowhere from there.
    Where there are several, they have to be followed.
    """

    def __init__(self, connector: Connector) -> None:
        super().__init__(connector)
        self._is_alone: bool | None = None

    def _the_one(self) -> Connection | None:
        """The broker that was named, if there is no other."""
        named = self.any()
        if self._is_alone is None:
            self._is_alone = len(read_metadata(named, []).brokers) == 1
        return named if self._is_alone else None

    def by_leader(self, pairs: Iterable[Pair]) -> dict[Connection, list[Pair]]:
        wanted, named = [(topic, partition) for topic, partition in pairs], self._the_one()
        if named is None:
            return super().by_leader(wanted)
        return {named: wanted} if wanted else {}

    def controller(self) -> Connection:
        return self._the_one() or super().controller()

    def each(self, ask: Callable[[Connection], list[T]], topic: str) -> list[T]:
        named = self._the_one()
        return super().each(ask, topic) if named is None else ask(named)

    def coordinator(self, kind: int, key: str) -> Connection:
        return self._the_one() or super().coordinator(kind, key)


def _address(kind: int, key: str, found: Coordinator | FindCoordinatorResponse) -> Address:
    what = f"the coordinator of {'group' if kind == GROUP else 'transactional id'} {key}"
    check(what, found.error_code, found.error_message or None)
    return Address(found.host, found.port)
