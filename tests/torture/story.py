"""A small good history, made by hand: a log that does everything right, and what its clients would have seen."""

from __future__ import annotations

from typing import Any

from tests.torture.facts import NO_TXN, value_of
from tests.torture.history import Event

COMPACTED_KEYS = 20
LONG_LIFE = 200  # Samples, and seconds.


class Story:
    """Time goes on by one second with every event."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._logs: dict[str, list[str | None]] = {}  # One partition each; None is a marker.
        self._numbers: dict[str, int] = {}

    def add(self, who: str, kind: str, op: str, **facts: Any) -> None:
        self.events.append({"at": float(len(self.events)), "who": who, "kind": kind, "op": op, **facts})

    @property
    def now(self) -> float:
        return float(len(self.events))

    def topic(self, name: str, like: str = "kept") -> None:
        self.add("house", "info", "topic", name=name, like=like, partitions=1)

    def producer(self, name: str, *, once: bool, in_flight: int = 5) -> None:
        self.add(name, "info", "producer", producer=name, once=once, in_flight=in_flight)

    def send(self, producer: str, topic: str, count: int, txn: int = NO_TXN, first: int | None = None) -> None:
        """Records that are sent, stored and acknowledged."""
        first = self._numbers.get(producer, 0) if first is None else first
        self._numbers[producer] = first + count
        self.add(producer, "invoke", "send", producer=producer, topic=topic, first=first, count=count, txn=txn)
        log = self._logs.setdefault(topic, [])
        acks = [[first + each, 0, len(log) + each] for each in range(count)]
        log += [value_of(producer, first + each, txn) for each in range(count)]
        self.add(producer, "ok", "send", producer=producer, topic=topic, acks=acks)

    def end(self, producer: str, topic: str, op: str, txn: int) -> None:
        """Commit or abort."""
        self.add(producer, "invoke", op, producer=producer, txn=txn)
        self._logs[topic].append(None)
        self.add(producer, "ok", op, producer=producer, txn=txn)

    def read(self, who: str, topic: str, start: int, *, without: str = "", **facts: Any) -> None:
        """All records from `start` on; `without` names the transactions that are not to be seen."""
        log = self._logs.get(topic, [])
        found = [(at, value) for at, value in enumerate(log) if at >= start and value is not None]
        found = [(at, value) for at, value in found if not without or value.split(":")[2] not in without]
        whole: dict[str, Any] = {"committed": False, "stream": who, "since": self.now - 0.5, **facts}
        offsets, values = [at for at, _ in found], [value for _, value in found]
        self.add(who, "ok", "read", topic=topic, partition=0, offsets=offsets, values=values, **whole)

    def mirror(self, by: str, topic: str, *, without: str, offsets: bool) -> None:
        """All that is committed, as a stream or a sync writes it."""
        self.read(by, topic, 0, without=without)
        read = self.events.pop()
        kept = {"offsets": read["offsets"] if offsets else None, "values": read["values"]}
        self.add(by, "info", "mirror", by=by, topic=topic, partition=0, **kept)

    def sample(self, **facts: int) -> None:
        whole = {"process": 1, "rss": 500, "handles": 50, "connections": 40, **facts}
        self.add("house", "info", "sample", **whole)

    def duel(self) -> None:
        """`a` is stopped, `b` takes its place, and what only `a` has is in its quarantine."""
        acks = [["a", "a:0", 1.0, 0], ["a", "a:1", 1.5, 1], ["b", "b:0", 3.0, 1]]
        rows: dict[str, Any] = {"log": [[0, "a:0", 1], [1, "b:0", 2]], "seen": [[0, "a:0", 1], [1, "a:1", 1]]}
        rows |= {"served": {"a": 0.5, "b": 2.0}, "resumed": {"a": 4.0}, "silent": [], "kept": {"a": ["a:1"]}}
        self.add("house", "info", "duel", name="usurp-1", acks=acks, **rows)

    def marks(self, topic: str, low: int = 0, **facts: Any) -> None:
        high = len(self._logs.get(topic, []))
        self.add("marks", "ok", "marks", topic=topic, partition=0, low=low, high=high, asked=self.now - 0.5, **facts)

    def group(self, topic: str, offset: int, *, polled: bool, group: str = "group") -> None:
        who = "poll" if polled else "member"
        self.add(who, "invoke", "group", group=group, polled=polled, offsets=[])
        self.add(who, "ok", "group", group=group, polled=polled, offsets=[[topic, 0, offset]])

    def again(self, topic: str) -> None:
        """The topic is deleted and made again."""
        for op in ("delete_topic", "create_topic"):
            self.add("admin", "invoke", op, topic=topic)
            self.add("admin", "ok", op, topic=topic)
        self._logs[topic] = []

    def compact(self, topic: str) -> None:
        """The last record of each key stays where it is."""
        log = self._logs[topic]
        last = {int(value.split(":")[1]) % COMPACTED_KEYS: at for at, value in enumerate(log) if value is not None}
        self._logs[topic] = [value if at in last.values() else None for at, value in enumerate(log)]


def good_story() -> list[Event]:
    """One of everything."""
    story = Story()
    story.add("house", "info", "limits", rss=1000, handles=100, files=30, growth=50, entries=9)
    for topic, like in (
        ("one", "kept"),
        ("txn", "kept"),
        ("row", "kept"),
        ("short", "shrinking"),
        ("keys", "compacted"),
    ):
        story.topic(topic, like)
    story.topic("light", "memory")
    story.topic("phoenix", "reborn")
    story.add("house", "info", "broker", event="started", expected=True)
    for producer, once in (("idem", True), ("plain", False), ("trans", True), ("keyed", True), ("old", False)):
        story.producer(producer, once=once)
    for _ in range(2):
        story.send("idem", "one", 3)
        story.send("plain", "one", 2)
        story.marks("one")
        story.sample(rss=500)
    story.read("member", "one", 0, group="group")
    story.group("one", 10, polled=False)
    story.group("one", 10, polled=True)
    for txn, end in ((0, "commit"), (1, "abort"), (2, "commit")):
        story.send("trans", "txn", 4, txn)
        story.end("trans", "txn", end, txn)
    story.producer("single", once=False, in_flight=1)
    story.send("single", "row", 4)
    story.producer("copier-0", once=True)
    story.add("copier-0", "info", "copy", source="one", target="copies", group="copier")
    for txn, end in ((0, "abort"), (1, "commit")):  # The same records, until it is done.
        story.send("copier-0", "copies", 5, txn, first=0)
        story.end("copier-0", "copies", end, txn)
    story.group("one", 5, polled=True, group="copier")
    story.read("careful", "txn", 0, without="1", committed=True)
    story.send("plain", "light", 2)
    story.marks("light")
    story.add("house", "info", "broker", event="killed", expected=True)
    story.add("house", "info", "broker", event="started", expected=True)
    story.send("plain", "short", 6)
    story.marks("short")
    story.add("admin", "ok", "delete_records", topic="short", partition=0, low=4)
    story.read("late", "short", 4)
    story.send("keyed", "keys", 50)
    story.compact("keys")
    story.send("old", "phoenix", 3)
    story.again("phoenix")
    story.send("old", "phoenix", 3)
    story.read("fresh", "phoenix", 0)
    story.send("idem", "one", 3)
    story.read("member", "one", 10, group="group")
    story.group("one", 13, polled=False)
    story.group("one", 13, polled=True)
    for topic, low, without in (
        ("one", 0, "1"),
        ("txn", 0, "1"),
        ("row", 0, ""),
        ("copies", 0, "0"),
        ("short", 4, ""),
        ("keys", 0, ""),
    ):
        story.marks(topic, low, final=True)
        for round_ in (1, 2):
            story.read(f"final-{round_}", topic, low, final=round_)
            story.read(f"final-{round_}-c", topic, low, final=round_, committed=True, without=without)
    for round_ in (1, 2):
        story.read(f"final-{round_}", "phoenix", 0, final=round_)
    story.mirror("spark", "txn", without="1", offsets=True)
    story.mirror("sync", "txn", without="1", offsets=False)
    story.add("house", "info", "breather", seconds=1.0, stuck=[])
    story.add("house", "info", "idle", entries=3)
    story.duel()
    story.sample(rss=500, process=2)
    story.add("house", "info", "broker", event="started", expected=True)
    for _ in range(LONG_LIFE):
        story.sample(rss=600, process=2)
    return story.events
