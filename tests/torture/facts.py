"""Events of all clients as tables that rules can ask. Pure: nothing is read or written here.

The ops, and their facts, as clients write them down:

    topic       info: name, like (what is done to it, see `LIKES`), partitions
    producer    info: producer, once (whether a record of it may be stored once only), in_flight (requests at a time)
    send        invoke: producer, topic, first, count, txn · ok: topic, acks [[number, partition, offset]] · fail: error
    commit, abort  of a transaction, invoke, ok, fail: producer, txn
    read        ok: topic, partition, offsets, values, committed, stream, since; group; final (1 or 2)
    group       invoke, ok: group, offsets [[topic, partition, offset]]: a commit's; polled: how they were found
    marks       ok: topic, partition, low, high, asked; final
    copy        info: source, target, group: a copy loop in transactions
    mirror      info: by, topic, partition, values, offsets (or null): all that a Spark stream or a sync has written
    delete_records  ok: topic, partition, low
    delete_topic, create_topic  invoke, ok: topic · fail: asked (whether the broker may have heard of it)
    broker      info: event (started, killed, failed, stopped, ended), expected
    said        info: line: something the broker should never have to say
    unfinished  info: what: a client that did not come to its end
    stands still  info: reader, place, reached, last; says (its own words), brokers (what each says of the place)
    unread      info: reader, places [[topic, partition]], committed, final: ends that a reading of all did not reach
    breather    info: seconds, stuck: who was not acknowledged though nothing disturbed
    idle        info: entries: how much the write-ahead log still holds though nobody writes
    duel        info: see `Duel`
    sample      info: process, rss, handles, connections · limits  info: rss, handles, files, growth, entries; hears_s

A record's value says what it is: `producer:number:txn:`, and padding. `txn` is - outside of transactions.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from tests.torture.history import Event

LIKES = ("kept", "shrinking", "compacted", "memory", "reborn")
NO_TXN = -1

Place: TypeAlias = tuple[str, int]  # Topic and partition.


class Id(NamedTuple):
    """Which record: its producer, and its number there."""

    producer: str
    number: int


class Sent(NamedTuple):
    at: float
    topic: str
    txn: int


class Ack(NamedTuple):
    at: float
    place: Place
    offset: int


class Read(NamedTuple):
    """Records that one client was handed at once, of one partition."""

    at: float
    who: str
    place: Place
    committed: bool  # Only what is committed was asked for.
    stream: str  # Reads of one stream follow one another.
    since: float  # When its stream began.
    group: str | None
    final: int
    offsets: list[int]
    values: list[str]


class Marks(NamedTuple):
    asked: float
    at: float
    place: Place
    low: int
    high: int
    final: bool


class Committed(NamedTuple):
    """A group's offset, as it was committed or found."""

    asked: float
    at: float
    group: str
    place: Place
    offset: int


class Mirror(NamedTuple):
    """What somebody else has made of a partition."""

    by: str
    place: Place
    offsets: list[int] | None  # None: they are its own.
    values: list[str]


class Sample(NamedTuple):
    """The broker's process at one moment."""

    at: float
    process: int
    rss: int  # Bytes.
    handles: int
    connections: int  # Of clients, as the proxies count them.


class Limits(NamedTuple):
    """What the broker may hold."""

    rss: int = 1 << 62  # Bytes.
    handles: int = 1 << 62
    files: int = 1 << 62  # Handles besides the connections, while nothing disturbs.
    growth: int = 1 << 62  # Bytes that one process may grow by after it has settled.
    entries: int = 1 << 62  # In the write-ahead log, while nobody writes.
    hears_s: float = 0.0  # So long a broker of several may take records of a topic that another has deleted.


NO_LIMITS = Limits()


class DuelAck(NamedTuple):
    """A record that one of two brokers has acknowledged."""

    writer: str
    value: str
    at: float
    offset: int


class Duel(NamedTuple):
    """Two brokers on one store, and what was left of them."""

    name: str
    acks: list[DuelAck]
    served: dict[str, float]  # Broker → when it began to serve; the last one stays.
    resumed: dict[str, float]  # Broker → when it went on after a suspend in which the last one came.
    silent: list[str]  # Brokers that still ran at the end, or had ended without a word, though another had come.
    log: list[tuple[int, str, int]]  # What is there in the end: offset, value, leader epoch.
    seen: list[tuple[int, str, int]]  # What was read before.
    kept: dict[str, list[str]]  # Broker → values in its own log and quarantine, of those that are not there.


class Span(NamedTuple):
    asked: float
    at: float


@dataclass
class Transaction:
    """What its producer was told of its end."""

    commit_asked: bool = False
    committed: bool = False
    aborted: bool = False
    ids: list[Id] = field(default_factory=list)


@dataclass
class Facts:
    """Everything the clients saw."""

    likes: dict[str, str] = field(default_factory=dict)
    once: set[str] = field(default_factory=set)
    single: set[str] = field(default_factory=set)  # Producers with one request in flight.
    sent: dict[Id, Sent] = field(default_factory=dict)
    acks: dict[Id, Ack] = field(default_factory=dict)
    transactions: dict[tuple[str, int], Transaction] = field(default_factory=lambda: defaultdict(Transaction))
    reads: list[Read] = field(default_factory=list)
    finals: dict[tuple[Place, bool, int], dict[int, str]] = field(default_factory=lambda: defaultdict(dict))
    unread: dict[tuple[Place, bool, int], str] = field(default_factory=dict)  # Finals that are not whole, and whose.
    marks: list[Marks] = field(default_factory=list)
    committed: list[Committed] = field(default_factory=list)
    found: list[Committed] = field(default_factory=list)
    cut: list[tuple[float, Place, int]] = field(default_factory=list)  # DeleteRecords that were answered.
    deleted: dict[str, list[Span]] = field(default_factory=lambda: defaultdict(list))
    created: dict[str, list[Span]] = field(default_factory=lambda: defaultdict(list))
    started: list[float] = field(default_factory=list)  # When the broker began to serve.
    unclean: list[float] = field(default_factory=list)  # When the broker ended without its farewell.
    copies: list[tuple[str, str, str]] = field(default_factory=list)  # Source, target, group.
    wrong: list[Event] = field(default_factory=list)  # What is wrong by itself.
    mirrors: list[Mirror] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    limits: Limits = NO_LIMITS
    stuck: list[tuple[float, str]] = field(default_factory=list)  # When, and who.
    idle: list[int] = field(default_factory=list)  # Entries of the write-ahead log, while nobody wrote.
    duels: list[Duel] = field(default_factory=list)

    def like(self, topic: str) -> str:
        return self.likes.get(topic, "kept")

    def final_low(self, place: Place) -> int:
        """Where a partition begins at the end of the run."""
        return max((marks.low for marks in self.marks if marks.final and marks.place == place), default=0)


def id_of(value: str) -> Id | None:
    """Which record this value belongs to; None for bytes that nobody of us writes."""
    parts = value.split(":", 3)
    if len(parts) < 3 or not parts[1].isdigit():
        return None
    return Id(parts[0], int(parts[1]))


def txn_of(value: str) -> int:
    text = value.split(":", 3)[2]
    return NO_TXN if text == "-" else int(text)


def value_of(producer: str, number: int, txn: int = NO_TXN, padding: str = "") -> str:
    return f"{producer}:{number}:{'-' if txn == NO_TXN else txn}:{padding}"
