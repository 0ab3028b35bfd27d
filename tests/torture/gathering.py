"""From events to tables: one function for each op."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf
from typing import TypeAlias

from tests.torture.facts import (
    NO_TXN,
    Ack,
    Committed,
    Duel,
    DuelAck,
    Facts,
    Id,
    Limits,
    Marks,
    Mirror,
    Read,
    Sample,
    Sent,
    Span,
)
from tests.torture.history import Event

Taker: TypeAlias = Callable[[Facts, Event, float], None]  # With when the client had asked.


def facts_of(events: Iterable[Event]) -> Facts:
    """Events, in the order of their times, as tables."""
    facts = Facts()
    asked: dict[tuple[str, str], float] = {}  # By client and op: clients ask one at a time.
    for event in events:
        key = event["who"], event["op"]
        if event["kind"] == "invoke":
            asked[key] = event["at"]
        taker = _TAKERS.get(event["op"])
        if taker is not None:
            taker(facts, event, asked.get(key, event["at"]))
    return facts


def _topic(facts: Facts, event: Event, _: float) -> None:
    facts.likes[event["name"]] = event["like"]


def _producer(facts: Facts, event: Event, _: float) -> None:
    if event["once"]:
        facts.once.add(event["producer"])
    elif event["in_flight"] == 1:
        facts.single.add(event["producer"])


def _send(facts: Facts, event: Event, _: float) -> None:
    producer = event["producer"]
    if event["kind"] == "invoke":
        sent = Sent(event["at"], event["topic"], event["txn"])
        for number in range(event["first"], event["first"] + event["count"]):
            facts.sent.setdefault(Id(producer, number), sent)  # What was aborted may be sent again.
            if sent.txn != NO_TXN:
                facts.transactions[producer, sent.txn].ids.append(Id(producer, number))
    elif event["kind"] == "ok":
        for number, partition, offset in event["acks"]:
            facts.acks[Id(producer, number)] = Ack(event["at"], (event["topic"], partition), offset)


def _commit(facts: Facts, event: Event, _: float) -> None:
    transaction = facts.transactions[event["producer"], event["txn"]]
    transaction.commit_asked = True
    transaction.committed |= event["kind"] == "ok"


def _abort(facts: Facts, event: Event, _: float) -> None:
    facts.transactions[event["producer"], event["txn"]].aborted |= event["kind"] == "ok"


def _read(facts: Facts, event: Event, _: float) -> None:
    place = event["topic"], event["partition"]
    final = event.get("final", 0)
    facts.reads.append(
        Read(
            event["at"],
            event["who"],
            place,
            event["committed"],
            event["stream"],
            event["since"],
            event.get("group"),
            final,
            event["offsets"],
            event["values"],
        )
    )
    if final:
        facts.finals[place, event["committed"], final].update(zip(event["offsets"], event["values"], strict=True))


def _unread(facts: Facts, event: Event, _: float) -> None:
    for topic, partition in event["places"]:
        facts.unread[(topic, partition), event["committed"], event["final"]] = event["reader"]


def _marks(facts: Facts, event: Event, _: float) -> None:
    place = event["topic"], event["partition"]
    final = event.get("final", False)
    facts.marks.append(Marks(event["asked"], event["at"], place, event["low"], event["high"], final))


def _group(facts: Facts, event: Event, asked: float) -> None:
    if event["kind"] != "ok":
        return
    table = facts.found if event["polled"] else facts.committed
    for topic, partition, offset in event["offsets"]:
        table.append(Committed(asked, event["at"], event["group"], (topic, partition), offset))


def _copy(facts: Facts, event: Event, _: float) -> None:
    facts.copies.append((event["source"], event["target"], event["group"]))


def _mirror(facts: Facts, event: Event, _: float) -> None:
    place = event["topic"], event["partition"]
    facts.mirrors.append(Mirror(event["by"], place, event["offsets"], event["values"]))


def _delete_records(facts: Facts, event: Event, _: float) -> None:
    if event["kind"] == "ok":
        facts.cut.append((event["at"], (event["topic"], event["partition"]), event["low"]))


def _delete_topic(facts: Facts, event: Event, asked: float) -> None:
    """One without an answer may be done at any time, until the next: topics are deleted by their ids."""
    spans, now = facts.deleted[event["topic"]], event["at"]
    if event["kind"] == "ok":
        facts.deleted[event["topic"]] = [Span(span.asked, min(span.at, now)) for span in spans] + [Span(asked, now)]
    elif event["kind"] == "fail" and event["asked"]:
        spans.append(Span(asked, inf))


def _create_topic(facts: Facts, event: Event, asked: float) -> None:
    if event["kind"] == "ok":
        facts.created[event["topic"]].append(Span(asked, event["at"]))


def _broker(facts: Facts, event: Event, _: float) -> None:
    if event["event"] == "started":
        facts.started.append(event["at"])
    if event["event"] in ("killed", "failed", "ended"):
        facts.unclean.append(event["at"])
    if not event["expected"]:
        facts.wrong.append(event)


def _wrong(facts: Facts, event: Event, _: float) -> None:
    facts.wrong.append(event)


def _sample(facts: Facts, event: Event, _: float) -> None:
    numbers = (event[name] for name in ("process", "rss", "handles", "connections"))
    facts.samples.append(Sample(event["at"], *numbers))


def _limits(facts: Facts, event: Event, _: float) -> None:
    facts.limits = Limits(**{name: event[name] for name in Limits._fields if name in event})


def _breather(facts: Facts, event: Event, _: float) -> None:
    facts.stuck += [(event["seconds"], who) for who in event["stuck"]]


def _idle(facts: Facts, event: Event, _: float) -> None:
    facts.idle.append(event["entries"])


def _duel(facts: Facts, event: Event, _: float) -> None:
    acks = [DuelAck(*each) for each in event["acks"]]
    rows = [[(offset, value, epoch) for offset, value, epoch in event[name]] for name in ("log", "seen")]
    facts.duels.append(
        Duel(event["name"], acks, event["served"], event["resumed"], event["silent"], *rows, event["kept"])
    )


_TAKERS: dict[str, Taker] = {
    "topic": _topic,
    "producer": _producer,
    "send": _send,
    "commit": _commit,
    "abort": _abort,
    "read": _read,
    "unread": _unread,
    "marks": _marks,
    "group": _group,
    "copy": _copy,
    "mirror": _mirror,
    "delete_records": _delete_records,
    "delete_topic": _delete_topic,
    "create_topic": _create_topic,
    "broker": _broker,
    "said": _wrong,
    "unfinished": _wrong,
    "stands still": _wrong,
    "sample": _sample,
    "limits": _limits,
    "breather": _breather,
    "idle": _idle,
    "duel": _duel,
}
