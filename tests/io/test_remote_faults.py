"""A remote store behind a network that breaks: every call ends, and what it says is never more than what happened."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.support.faulty_proxy import Fault, FaultyProxy, Plan, in_order
from tests.support.s3_server import S3Server

from holdfast.errors import HoldfastError
from holdfast.io.chance import SeededChance
from holdfast.io.objects import Exists, NotFound, Objects, StoreFailed
from holdfast.io.objects.open import open_objects

pytestmark = pytest.mark.s3

OLD = b"old " * 50_000
NEW = b"new!" * 60_000
CALL_SECONDS_MAX = 10  # The limits below allow about one and a half; the machine may be busy.
WRITERS = 4
LIMITS = {"connect_timeout_ms": 400, "request_timeout_ms": 400, "retries": 1, "retry_timeout_ms": 1_000}

faults = pytest.mark.parametrize("fault", list(Fault), ids=lambda fault: fault.name.lower())
how_often = pytest.mark.parametrize("always", [False, True], ids=["once", "always"])


@pytest.fixture
def direct(s3_store: tuple[str, dict[str, str]]) -> Objects:
    """The store as it is, without the proxy."""
    return open_objects(*s3_store)


@pytest.fixture
def proxy(s3_server: S3Server) -> Iterator[FaultyProxy]:
    with FaultyProxy(s3_server.port) as proxy:
        yield proxy


@pytest.fixture
def disturbed(s3_store: tuple[str, dict[str, str]], proxy: FaultyProxy) -> Objects:
    """The same store through the proxy."""
    url, options = s3_store
    return open_objects(url, options | LIMITS | {"endpoint": proxy.endpoint})


def plan(fault: Fault, *, always: bool) -> Plan:
    return (lambda method, path: fault) if always else in_order([fault])


def outcome(call: Callable[[], object]) -> object:
    """What a call answered, or the error it raised; no other error than ours, and not too late."""
    start = time.monotonic()
    try:
        return call()
    except HoldfastError as error:
        return error
    finally:
        assert time.monotonic() - start < CALL_SECONDS_MAX


def stored(store: Objects, name: str) -> bytes | None:
    try:
        return store.get(name)
    except NotFound:
        return None


@faults
@how_often
def test_put_if_absent(direct: Objects, disturbed: Objects, proxy: FaultyProxy, fault: Fault, always: bool) -> None:
    """A3: success is only said of what is stored, and an object is whole or absent, never partial."""
    proxy.plan = plan(fault, always=always)
    said = outcome(lambda: disturbed.put_if_absent("a", [NEW[:7], NEW[7:]]))
    assert proxy.disturbed
    assert said is None or isinstance(said, Exists | StoreFailed)
    found = stored(direct, "a")
    assert found in (None, NEW)
    if said is None or isinstance(said, Exists):
        assert found == NEW
    if fault in (Fault.CUT_BEFORE_REQUEST, Fault.CUT_IN_REQUEST, Fault.ANSWER_503) and always:
        assert isinstance(said, StoreFailed)
        assert found is None


@faults
@how_often
def test_put(direct: Objects, disturbed: Objects, proxy: FaultyProxy, fault: Fault, always: bool) -> None:
    """A3: of a replaced object the old or the new bytes are there, never a mixture."""
    direct.put("a", [OLD])
    proxy.plan = plan(fault, always=always)
    said = outcome(lambda: disturbed.put("a", [NEW]))
    assert proxy.disturbed
    assert said is None or isinstance(said, StoreFailed)
    found = stored(direct, "a")
    assert found in (OLD, NEW)
    if said is None:
        assert found == NEW


@faults
@how_often
def test_get(direct: Objects, disturbed: Objects, proxy: FaultyProxy, fault: Fault, always: bool) -> None:
    """S7: an answer that is cut in the middle is completed or an error, never short."""
    direct.put("a", [OLD])
    proxy.plan = plan(fault, always=always)
    said = outcome(lambda: disturbed.get("a", 1000, 150_000))
    assert proxy.disturbed
    assert isinstance(said, StoreFailed) or (said == OLD[1000:150_000] and not always)


@faults
def test_list(direct: Objects, disturbed: Objects, proxy: FaultyProxy, fault: Fault) -> None:
    """L3: a listing that fails is an error, never one with fewer names."""
    names = [f"names/{number}" for number in range(10, 30)]
    for name in names:
        direct.put(name, [b"x"])
    proxy.plan = plan(fault, always=True)
    said = outcome(lambda: [info.name for info in disturbed.list("names/")])
    assert proxy.disturbed
    assert isinstance(said, StoreFailed)
    proxy.plan = plan(fault, always=False)
    said = outcome(lambda: [info.name for info in disturbed.list("names/")])
    assert said == names or isinstance(said, StoreFailed)


@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE_REQUEST, Fault.ANSWER_503, Fault.HOLD_ANSWER])
def test_size_and_delete(direct: Objects, disturbed: Objects, proxy: FaultyProxy, fault: Fault) -> None:
    """L3: a store that cannot be reached is not a store without the object."""
    direct.put("a", [OLD])
    proxy.plan = plan(fault, always=True)
    assert isinstance(outcome(lambda: disturbed.size("a")), StoreFailed)
    assert isinstance(outcome(lambda: disturbed.delete("a")), StoreFailed)


def test_the_repeat_of_a_put_meets_its_own_object(direct: Objects, disturbed: Objects, proxy: FaultyProxy) -> None:
    """A3: the client repeats a put that had succeeded; what is said then is not success, and the bytes are ours."""
    proxy.plan = in_order([Fault.DO_AND_ANSWER_503])
    said = outcome(lambda: disturbed.put_if_absent("a", [NEW]))
    assert isinstance(said, Exists | StoreFailed)
    assert stored(direct, "a") == NEW


def test_a_whole_object_cut_in_the_middle(direct: Objects, disturbed: Objects, proxy: FaultyProxy) -> None:
    """S7: the client asks again for what is missing, however often the connection breaks, or it is an error."""
    direct.put("a", [OLD])
    for cuts in range(1, 4):
        proxy.plan = in_order([Fault.CUT_IN_ANSWER] * cuts)
        said = outcome(lambda: disturbed.get("a"))
        assert said == OLD or isinstance(said, StoreFailed)


def test_a_conflict_without_an_object_is_not_said_to_exist(
    direct: Objects, disturbed: Objects, proxy: FaultyProxy
) -> None:
    """A3: "another request is in the way" says nothing about the object, so that the caller tries again."""
    proxy.plan = in_order([Fault.ANSWER_409])
    assert isinstance(outcome(lambda: disturbed.put_if_absent("a", [NEW])), StoreFailed)
    assert stored(direct, "a") is None


@pytest.mark.parametrize("seed", range(2))
def test_a_race_over_a_breaking_network(direct: Objects, disturbed: Objects, proxy: FaultyProxy, seed: int) -> None:
    """L2: at most one writer is told that it won, and then the object is its own."""
    chance = SeededChance(seed)
    quick = [fault for fault in Fault if fault is not Fault.HOLD_ANSWER]  # It would only make the test slow.

    def shaky(method: str, path: str) -> Fault | None:
        return quick[chance.bits(16) % len(quick)] if chance.fraction() < 0.5 else None

    proxy.plan = shaky
    for number in range(5):
        name = f"race/{number}"

        def write(writer: int, name: str = name) -> object:
            return outcome(lambda: disturbed.put_if_absent(name, [b"writer ", str(writer).encode()]))

        with ThreadPoolExecutor(WRITERS) as threads:
            said = list(threads.map(write, range(WRITERS)))
        winners = [writer for writer, answer in enumerate(said) if answer is None]
        assert len(winners) <= 1
        found = stored(direct, name)
        assert found in (None, *(b"writer %d" % writer for writer in winners or range(WRITERS)))
        if winners or any(isinstance(answer, Exists) for answer in said):
            assert found is not None
