"""Which quota holds for whom, against a naive model; and what a bucket gives."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast.broker.configs.quotas import Entity, Quota, Rate, entity_text, rates_of_client
from holdfast.broker.net.request import Request
from holdfast.broker.throttle import Bucket, Throttle, Windows
from holdfast.io.address import Address
from holdfast.io.clock import ManualClock
from holdfast.protocol.api import Key
from holdfast.protocol.header import RequestHeader
from holdfast.security.principal import ANONYMOUS, Session

NAMES = st.sampled_from(["a", "b"])
PART = st.one_of(st.none(), NAMES)
ENTITIES = st.one_of(
    st.fixed_dictionaries({"user": PART}),
    st.fixed_dictionaries({"client-id": PART}),
    st.fixed_dictionaries({"user": PART, "client-id": PART}),
)
VALUES = st.dictionaries(st.sampled_from(list(Quota)), st.floats(1, 100), min_size=1)


def naive(rows: list[tuple[Entity, dict[Quota, float]]], kind: Quota, user: str, client: str) -> Rate | None:
    """Of all that fit, the one that names most: a user before a client, a name before a default."""

    def rank(entity: Entity) -> tuple[int, int]:
        return 3 - _worth(entity, "user"), 3 - _worth(entity, "client-id")

    fitting = [
        (rank(entity), entity, values[kind])
        for entity, values in rows
        if kind in values
        and entity.get("user", user) in (user, None)
        and entity.get("client-id", client) in (client, None)
    ]
    if not fitting:
        return None
    _, entity, value = min(fitting, key=lambda each: each[0])
    scope = user if "user" in entity else None, client if "client-id" in entity else None
    return Rate(scope, value)


def _worth(entity: Entity, part: str) -> int:
    if part not in entity:
        return 0
    return 1 if entity[part] is None else 2


@given(st.dictionaries(ENTITIES.map(entity_text), VALUES), NAMES, NAMES)
def test_the_most_special_quota_holds(stored: dict[str, dict[Quota, float]], user: str, client: str) -> None:
    """X9: of each kind on its own, in Kafka's order."""
    import json

    rows = [(json.loads(text), values) for text, values in stored.items()]
    found = rates_of_client(stored, user, client)
    for kind in Quota:
        assert found.get(kind) == naive(rows, kind, user, client)


def test_a_bucket_saves_no_more_than_its_windows() -> None:
    """X9: a quiet hour is worth as much as a quiet window; what is used too much is waited for in full."""
    bucket = Bucket(rate=10.0, burst_s=5.0, now=0.0)
    bucket.fill(3600.0)
    assert (bucket.level, bucket.wait_s) == (50.0, 0.0)
    bucket.level -= 80
    assert bucket.wait_s == 3.0
    bucket.fill(3602.0)
    assert bucket.wait_s == 1.0
    bucket.change(1.0)  # A tenth of the rate: they wait as long.
    assert bucket.wait_s == 1.0


def test_of_time_that_was_used_no_more_is_remembered_than_the_windows_hold() -> None:
    """X9: who has worked hard for long, and then is quiet for as long as the windows are, waits no more."""
    clock, held = ManualClock(), list[float]()
    quotas = {entity_text({"client-id": "c"}): {Quota.WORK.value: 1.0}}
    throttle = Throttle(lambda: quotas, Windows(of_clients=10.0, of_changes=10.0, of_work=1.0), clock)
    session = Session(ANONYMOUS, "127.0.0.1", "PLAINTEXT")
    request = Request(RequestHeader(Key.PRODUCE, 9, 1, "c", 0), memoryview(b""), session, Address("localhost", 1))
    request = request._replace(hold=lambda seconds, _wait: held.append(seconds))
    assert throttle.is_on
    for _ in range(100):
        throttle.charge(request, Quota.WORK, 1.0)
    throttle.produced(request, [bytes(100)])
    assert held == [1.0]
    clock.advance(10.1)
    throttle.produced(request, [bytes(100)])
    assert held == [1.0]


def test_who_waits_for_a_quota_now_is_known_by_name() -> None:
    """V6: which quota, whose, and for how long; nobody any more when it is filled again."""
    clock = ManualClock()
    quotas = {entity_text({"client-id": "c"}): {Quota.PRODUCED.value: 10.0}}
    throttle = Throttle(lambda: quotas, Windows(of_clients=1.0, of_changes=10.0, of_work=1.0), clock)
    session = Session(ANONYMOUS, "127.0.0.1", "PLAINTEXT")
    request = Request(RequestHeader(Key.PRODUCE, 9, 1, "c", 0), memoryview(b""), session, Address("localhost", 1))
    assert throttle.is_on
    throttle.charge(request, Quota.PRODUCED, 5.0)
    assert throttle.waiting() == []
    throttle.charge(request, Quota.PRODUCED, 45.0)
    assert throttle.waiting() == [("producer_byte_rate", "c", 4.0)]
    clock.advance(3.0)
    assert throttle.waiting() == [("producer_byte_rate", "c", 1.0)]
    clock.advance(1.0)
    assert throttle.waiting() == []
