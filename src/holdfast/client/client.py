"""The face of the client: one method for each thing to ask a cluster."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar
from uuid import UUID

from holdfast.client import fetching, offsets, producing, transactions
from holdfast.client.admin import acls, group_offsets, groups, topics, users
from holdfast.client.admin.group_offsets import Committed
from holdfast.client.admin.groups import GroupInfo, ListedGroup
from holdfast.client.admin.topics import ClusterInfo, ConfigInfo, CreatedTopic, TopicInfo
from holdfast.client.admin.users import UserLogin
from holdfast.client.connection import Connector
from holdfast.client.errors import NotNow, Refused, TopicNotFound
from holdfast.client.fetch_session import FetchSession
from holdfast.client.fetching import FetchedBatches, FetchLimits
from holdfast.client.nodes import NamedBroker, Nodes
from holdfast.client.offsets import FoundOffset
from holdfast.client.partition import Pair
from holdfast.client.producing import Batches
from holdfast.client.retry import OnWait, RetryPolicy
from holdfast.client.settings import ClientSettings
from holdfast.client.transactions import ProducerIdentity
from holdfast.errors import HoldfastError
from holdfast.io.chance import Chance, SystemChance
from holdfast.io.clock import Clock, SystemClock
from holdfast.protocol.codes import Code
from holdfast.security.logins.scram import SALT_SIZE
from holdfast.security.rules import Rule, RuleFilter
from holdfast.security.secret import Secret
from holdfast.types import TopicPartition

log = logging.getLogger(__name__)

T = TypeVar("T")

_TIMEOUT_S = 30.0  # For one answer.
_PATIENCE_S = 30.0  # For trying again.
_MADE_S = 3.0  # For brokers to know a topic that was just made.


class Client:
    """A client of one cluster, for one thread. Whatever is `Unavailable` is tried again until patience ends.

    `where` are its settings, or only its addresses. Requests go to whoever leads or coordinates, or, without
    `follow_leaders`, to the broker that was named. `on_wait` is told why something is tried again, once each time.
    """

    def __init__(
        self,
        where: ClientSettings | str,
        client_id: str = "holdfast",
        *,
        follow_leaders: bool = True,
        timeout_s: float = _TIMEOUT_S,
        patience_s: float = _PATIENCE_S,
        on_wait: OnWait | None = None,
        clock: Clock | None = None,
        chance: Chance | None = None,
    ) -> None:
        clock, chance = clock or SystemClock(), chance or SystemChance()
        connector = Connector(ClientSettings.at(where), client_id, timeout_s, clock, chance)
        self._nodes = Nodes(connector) if follow_leaders else NamedBroker(connector)
        self._chance = chance
        self._patience = RetryPolicy(patience_s, clock, chance, on_wait)
        self._until_known = RetryPolicy(max(patience_s, _MADE_S), clock, chance)
        self._until_made = RetryPolicy(_MADE_S, clock, chance)
        self._new: set[str] = set()  # Made because we named them: whoever leads them may not have heard of it yet.

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._nodes.close()

    def connect(self) -> None:
        """Connect now, and without patience: whoever may wait long later wants to know at once that nobody is there."""
        self._nodes.any()

    def _try(self, work: Callable[[], T]) -> T:
        return self._patience.trying(work, self._nodes.forget)

    # Topics

    def metadata(self, names: Iterable[str] | None = None) -> ClusterInfo:
        """Brokers and topics: these, or all. One that is not there is `TopicNotFound`; none is created."""
        wanted = None if names is None else list(names)
        return self._try(lambda: self._nodes.metadata(wanted))

    def topic(self, name: str, *, create: bool = False) -> TopicInfo:
        """One topic: its id and partitions. `create` lets a broker make it that makes what is named."""
        if not create:
            return self.metadata([name]).topics[name]
        return self._try(lambda: self._made(name)).topics[name]

    def _made(self, name: str) -> ClusterInfo:
        try:
            return self._nodes.metadata([name])
        except TopicNotFound:
            self._new.add(name)
        except NotNow as failure:
            log.debug("%s", failure)  # It may have been made a moment ago.
        make = lambda: self._nodes.metadata([name], create=True)  # noqa: E731
        return self._until_made.trying(make, self._nodes.forget, (TopicNotFound, NotNow))

    def create_topics(
        self,
        counts: Mapping[str, int],
        configs: Mapping[str, str] | Iterable[tuple[str, str]] = (),
        replication_factor: int = -1,
    ) -> dict[str, CreatedTopic]:
        """Make topics with so many partitions, -1 for the broker's default."""
        given = list(configs.items() if isinstance(configs, Mapping) else configs)
        made = self._try(lambda: topics.create_topics(self._nodes, counts, given, replication_factor))
        self._new |= counts.keys()
        self._until_known.trying(lambda: topics.check_known(self._nodes, counts), self._nodes.forget)
        return made

    def delete_topic(self, name: str) -> UUID | None:
        """Delete a topic with all its records; its id."""
        return self._try(lambda: topics.delete_topic(self._nodes, name))

    def create_partitions(self, topic: str, count: int) -> None:
        """Give a topic so many partitions."""
        self._try(lambda: topics.create_partitions(self._nodes, topic, count))

    def configs(self, names: Iterable[str]) -> dict[str, list[ConfigInfo]]:
        """All configs of topics, with what they mean."""
        wanted = list(names)
        return self._try(lambda: topics.configs(self._nodes, wanted, meanings=True))

    def own_configs(self, topic: str) -> dict[str, str]:
        """The configs that a topic itself was given; the others are its broker's."""
        found = self._try(lambda: topics.configs(self._nodes, [topic]))
        return {each.name: each.value for each in found[topic] if each.value is not None and each.is_own}

    def own_configs_of(self, names: Iterable[str]) -> dict[str, dict[str, str]]:
        """The same of several topics, in one request."""
        wanted = list(names)
        found = self._try(lambda: topics.configs(self._nodes, wanted)) if wanted else {}
        return {
            topic: {each.name: each.value for each in some if each.value is not None and each.is_own}
            for topic, some in found.items()
        }

    def describe_configs(self, topic: str, keys: Iterable[str] | None = None) -> dict[str, str | None]:
        """The configs of a topic: these, or all."""
        wanted = None if keys is None else list(keys)
        found = self._try(lambda: topics.configs(self._nodes, [topic], wanted))
        return {each.name: each.value for each in found[topic]}

    def alter_configs(self, topic: str, given: Iterable[tuple[str, str]], unset: Iterable[str] = ()) -> None:
        """Set some configs of a topic, and let others have their default again."""
        pairs, names = list(given), list(unset)
        self._try(lambda: topics.alter_configs(self._nodes, topic, pairs, names))

    # Records

    def flush_topic(self, topic: str) -> None:
        """Have brokers of Holdfast put everything that the topic has acknowledged into the store."""
        done: set[int] = set()
        self._try(lambda: topics.flush_topic(self._nodes, topic, done))

    def list_offsets(self, wanted: Mapping[Pair, int], *, committed: bool = False) -> dict[TopicPartition, FoundOffset]:
        """For each partition: EARLIEST, LATEST, or the first record from a time (ms) on. `committed` ends at the
        last stable offset."""
        return self._try(lambda: offsets.list_offsets(self._nodes, wanted, committed=committed))

    def ends_of_epochs(self, wanted: Mapping[Pair, int]) -> dict[TopicPartition, int]:
        """For each partition where a leader epoch ends, or the log does; -1 where the epoch is not known."""
        return self._try(lambda: offsets.ends_of_epochs(self._nodes, wanted))

    def fetch(
        self,
        wanted: Mapping[Pair, int],
        *,
        max_bytes: int = 50 << 20,
        partition_max_bytes: int = 16 << 20,
        committed: bool = True,
        min_bytes: int = 1,
        max_wait_ms: int = 500,
    ) -> dict[TopicPartition, FetchedBatches]:
        """Batches of each partition from an offset on, as they are stored: from the batch that holds it.

        With `committed` nothing from the last stable offset on is there, and the aborted transactions are listed:
        their batches are still among the records.
        """
        limits = FetchLimits(
            max_bytes=max_bytes,
            partition_max_bytes=partition_max_bytes,
            committed=committed,
            min_bytes=min_bytes,
            max_wait_ms=max_wait_ms,
        )
        return self._try(lambda: fetching.fetch(self._nodes, wanted, limits))

    def fetch_session(self, ids: Mapping[str, UUID], limits: FetchLimits) -> FetchSession:
        """For reading the same partitions again and again: what does not move costs nothing. By the topics' ids."""
        return FetchSession(self._nodes, ids, limits)

    def produce(
        self,
        batches: Mapping[Pair, Batches],
        *,
        acks: int = -1,
        transactional_id: str | None = None,
        ids: Mapping[str, UUID] | None = None,
        refused: dict[TopicPartition, Refused] | None = None,
    ) -> dict[TopicPartition, int]:
        """Write batches; the offset of the first record of each partition.

        Apache Kafka takes one batch of a partition at a time, Holdfast takes several. With the topics' ids, where the
        broker knows the request in that form, a topic that was deleted and made again meanwhile refuses.

        Tried again only where a repeat is known as one: by the batches' producer id. Without one, an answer that does
        not come is `producing.OutcomeUnknown`.

        What no partition takes is raised; with `refused` it is put there, and the others are written.
        """
        done: dict[TopicPartition, int] = {}
        form = producing.ProduceForm(acks, transactional_id, ids or {}, refused)

        def write() -> None:
            producing.produce(self._nodes, batches, done, form)

        named = {topic for topic, _ in batches}
        is_told = lambda failure: not (named <= self._new and _is_unheard_of(failure))  # noqa: E731
        self._patience.trying(write, self._nodes.forget, is_told=is_told)
        self._new -= named
        return done

    # Transactions

    def init_producer_id(self, transactional_id: str | None = None, timeout_ms: int = 60_000) -> ProducerIdentity:
        """Begin as a producer: what an earlier holder of the transactional id left open is ended, and it is fenced."""
        return self._try(lambda: transactions.init_producer_id(self._nodes, transactional_id, timeout_ms))

    def add_partitions(self, transactional_id: str, producer: ProducerIdentity, pairs: Iterable[Pair]) -> None:
        """Say which partitions the transaction writes to, before it does."""
        wanted = list(pairs)
        self._try(lambda: transactions.add_partitions(self._nodes, transactional_id, producer, wanted))

    def txn_offset_commit(
        self, transactional_id: str, producer: ProducerIdentity, group: str, found: Mapping[Pair, tuple[int, str]]
    ) -> None:
        """Offsets of a group, each with a text, that become visible with the transaction's records."""
        self._try(lambda: transactions.txn_offset_commit(self._nodes, transactional_id, producer, group, found))

    def end_txn(self, transactional_id: str, producer: ProducerIdentity, *, commit: bool) -> None:
        """Commit or abort."""
        self._try(lambda: transactions.end_txn(self._nodes, transactional_id, producer, commit=commit))

    def write_markers(self, producer: ProducerIdentity, pairs: Iterable[Pair]) -> None:
        """Let partitions know a producer's epoch, so that they refuse what an older one still has on its way."""
        wanted = list(pairs)
        self._try(lambda: transactions.write_markers(self._nodes, producer, wanted))

    def producers(self, pairs: Iterable[Pair]) -> dict[TopicPartition, dict[int, int]]:
        """The producers that each partition remembers: their ids and epochs."""
        wanted = list(pairs)
        return self._try(lambda: transactions.producers(self._nodes, wanted))

    # Groups

    def commit_offsets(self, group: str, found: Mapping[Pair, tuple[int, str]]) -> None:
        """Commit offsets, each with a text, for a group without members."""
        self._try(lambda: group_offsets.commit_offsets(self._nodes, group, found))

    def fetch_offsets(
        self, group: str, pairs: Iterable[Pair] | None = None, *, stable: bool = True
    ) -> dict[TopicPartition, Committed]:
        """What a group has committed, for these partitions or all."""
        wanted = None if pairs is None else list(pairs)
        return self._try(lambda: group_offsets.fetch_offsets(self._nodes, group, wanted, stable=stable))

    def list_groups(self) -> list[ListedGroup]:
        """The groups of all brokers."""
        return self._try(lambda: groups.list_groups(self._nodes))

    def check_served(self) -> None:
        """Whether whoever leads tells its groups: a broker that waits for its store tells topics, but no groups."""
        self._try(lambda: groups.groups_of(self._nodes.controller()))

    def describe_groups(self, names: Iterable[str]) -> list[GroupInfo]:
        """Groups with their members, in the order asked for. One that is not there is `Refused`."""
        wanted = list(names)
        return self._try(lambda: groups.describe_groups(self._nodes, wanted))

    def delete_group(self, name: str) -> None:
        """Delete a group without members, with the offsets it has committed."""
        self._try(lambda: groups.delete_group(self._nodes, name))

    # Users and rules

    def users(self) -> list[UserLogin]:
        """Who logs in with SCRAM, and how."""
        return self._try(lambda: users.list_users(self._nodes))

    def set_user(self, name: str, mechanism: str, password: Secret) -> None:
        """Make a user, or give one another password: it is salted here, and not sent."""
        salt = self._chance.bits(8 * SALT_SIZE).to_bytes(SALT_SIZE, "big")
        self._try(lambda: users.set_user(self._nodes, name, mechanism, password, salt))

    def remove_user(self, name: str, mechanism: str) -> None:
        """Remove a user's login with one mechanism."""
        self._try(lambda: users.remove_user(self._nodes, name, mechanism))

    def rules(self, wanted: RuleFilter) -> list[Rule]:
        """The rules (ACLs) that a filter matches."""
        return self._try(lambda: acls.list_rules(self._nodes, wanted))

    def add_rules(self, rules: Iterable[Rule]) -> None:
        """Make rules."""
        wanted = list(rules)
        self._try(lambda: acls.add_rules(self._nodes, wanted))

    def remove_rules(self, filters: Iterable[RuleFilter]) -> list[Rule]:
        """Remove what the filters match: the rules that are gone now."""
        wanted = list(filters)
        return self._try(lambda: acls.remove_rules(self._nodes, wanted))


def _is_unheard_of(failure: HoldfastError) -> bool:
    """Whether whoever should lead a partition does not know of it, or nobody does yet."""
    return isinstance(failure, NotNow) and failure.code == Code.LEADER_NOT_AVAILABLE
