"""Who takes part in a run: clients that write, clients that read, and those who make something of what is committed."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Protocol

from tests.torture.clients.administering import Administrator
from tests.torture.clients.copying import Copier
from tests.torture.clients.following import Follower
from tests.torture.clients.grouping import Member
from tests.torture.clients.looking import Looker
from tests.torture.clients.sending import SECURED, Sender
from tests.torture.clients.sending_java import JavaSender
from tests.torture.clients.sending_many import ManySender
from tests.torture.clients.sending_single import SingleSender
from tests.torture.clients.streaming import Streamer
from tests.torture.clients.subscribing import Subscriber
from tests.torture.clients.syncing import Syncer
from tests.torture.clients.transacting import Transactor
from tests.torture.clients.transacting_async import AsyncTransactor
from tests.torture.ground import (
    COMPACTED,
    CUT,
    KEPT,
    LIGHT,
    MANY,
    ONE,
    PHOENIX,
    SHRINKING,
    SMALL,
    TOPICS,
    Ground,
    Topic,
)
from tests.torture.schedule import ALL

KEPT_NAMES = tuple(topic.name for topic in KEPT)
GROUPS = ("classic", "modern")


class Client(Protocol):
    """Runs in a thread until the ground says stop."""

    name: str

    def run(self, ground: Ground) -> None: ...


class Mirror(Client, Protocol):
    """Also makes something of all that is committed, comes to its end when writers have, and tells what it has."""

    def finish(self, ground: Ground) -> None: ...

    def close(self) -> None: ...


class Options(NamedTuple):
    """What takes part in a run."""

    spark: bool = False
    sync: bool = False
    s3: bool = False  # A real S3 server, if it is installed; otherwise a directory.
    mounted: bool = False  # A disk of bounded size, if this user may mount one; otherwise a wrapper says "full".
    java: bool = False  # Kafka's own producer.
    many: int = 0  # Partitions of a topic that has many.
    secured: bool = False  # A user with TLS, a password and rights beside all those who need none.
    stamps: bool = True  # Producers whose records are days old, or whose clock counts microseconds.
    faults: tuple[str, ...] = ALL
    brokers: int = 1  # More of them have faults of their own (`brokers_faults`), and an S3 server.


OPTIONS = Options()


def topics(options: Options) -> tuple[Topic, ...]:
    return (*TOPICS, Topic(MANY, "kept", partitions=options.many)) if options.many else TOPICS


def writers(administrator: Administrator, options: Options) -> list[Client]:
    more: list[Client] = [JavaSender("java", SMALL)] if options.java else []
    more += [Sender(SECURED, ONE, once=True, secured=True)] if options.secured else []
    more += [ManySender(MANY, topics(options)[-1])] if options.many else []
    if options.stamps:
        more += [
            Sender("idem-old", ONE, once=True, stamps="old"),
            Sender("idem-future", CUT, once=True, stamps="future"),
        ]
    return [
        *more,
        Sender("light", LIGHT, once=False),
        *common_writers(administrator),
    ]


def common_writers(administrator: Administrator) -> list[Client]:
    """Those of every run, with one broker or several."""
    return [
        Sender("idem-a", ONE, once=True),
        Sender("idem-b", ONE, once=True),
        Sender("plain", ONE, once=False),
        SingleSender("single", ONE),
        Sender("short", SHRINKING, once=True),
        Sender("cut", CUT, once=True),
        Sender("keyed", COMPACTED, once=True),
        Sender("old", PHOENIX, once=False),
        Transactor("trans"),
        AsyncTransactor("async"),
        Copier(),
        administrator,
    ]


def mirrors(folder: Path, options: Options) -> list[Mirror]:
    made: list[Mirror] = []
    if options.spark:
        made.append(Streamer(folder / "spark"))
    if options.sync:
        made.append(Syncer(folder / "mirror"))
    return made


def readers() -> list[Client]:
    return [Subscriber("subscriber", KEPT_NAMES, segment_refs=True), *common_readers(KEPT_NAMES)]


def common_readers(kept: tuple[str, ...]) -> list[Client]:
    """Those of every run, with one broker or several; `kept` are the topics that lose nothing."""
    moving = (SHRINKING.name, CUT.name, COMPACTED.name, PHOENIX.name)
    return [
        Member("classic-1", "classic", "classic", kept + moving),
        Member("classic-2", "classic", "classic", kept + moving),
        Member("modern-1", "modern", "consumer", kept),
        Member("modern-2", "modern", "consumer", kept + moving),
        Follower("committed", kept, committed=True),
        Follower("everything", kept, committed=False),
        Looker((*GROUPS, "copier")),
    ]
