"""Topics, records, several brokers, and a broker for other languages, each in a line."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from holdfast.client import Client
from holdfast.errors import HoldfastError
from holdfast.testing import RunningBroker, running_broker, running_brokers, secured_broker
from holdfast.testing.folders import PREFIX

COMMAND = Path(sys.executable).parent / "holdfast"

SHARED = """
from pathlib import Path

def test_one(holdfast_broker):
    Path("seen").mkdir(exist_ok=True)
    (Path("seen") / f"one-{holdfast_broker.port}").touch()
    holdfast_broker.topic("one", "a")
    assert [each.value for each in holdfast_broker.read("one")] == [b"a"]
"""


@pytest.fixture(scope="module")
def broker() -> RunningBroker:  # type: ignore[misc]
    with running_broker() as broker:
        yield broker  # type: ignore[misc]


def test_a_topic_with_its_records_and_configs_is_a_line(broker: RunningBroker) -> None:
    broker.topic("users", ("a", "one"), ("a", None), "without a key", cleanup_policy="delete", retention_ms=60_000)
    found = broker.read("users")
    assert [(each.key, each.value) for each in found] == [(b"a", b"one"), (b"a", None), (None, b"without a key")]
    with pytest.raises(HoldfastError, match="is there already"):
        broker.topic("users")


@pytest.mark.parametrize("wrong", [3, ["a", "b"], ("a", "b", "c"), ("a", 7), {"a": "b"}], ids=repr)
def test_what_is_no_record_is_refused_before_a_topic_is_made(broker: RunningBroker, wrong: object) -> None:
    with pytest.raises(HoldfastError, match=r"is no record: give a value as str.*(partitions=3)?$"):
        broker.topic("never-made", wrong)  # type: ignore[arg-type]
    with pytest.raises(HoldfastError):
        broker.read("never-made")


def test_a_topic_has_as_many_partitions_as_the_broker_says() -> None:
    with running_broker(num_partitions=3) as broker, Client(broker.bootstrap) as client:
        broker.topic("as-set")
        broker.topic("as-said", partitions=2)
        assert [len(client.topic(name).partitions) for name in ("as-set", "as-said")] == [3, 2]


def test_a_setting_with_dots_says_how_to_write_it() -> None:
    with pytest.raises(HoldfastError, match=r"'num\.partitions' is no name .* 'num_partitions'"):
        running_broker(**{"num.partitions": 3}).__enter__()  # type: ignore[arg-type]


def test_keys_go_where_kafkas_own_producers_send_them(broker: RunningBroker) -> None:
    broker.topic("keyed", partitions=3)
    broker.write("keyed", *((f"k{number}", str(number)) for number in range(30)))
    assert {each.value for each in broker.read("keyed")} == {str(number).encode() for number in range(30)}
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe(["keyed"])
    places = {message.key(): message.partition() for message in consumer.consume(30, 60)}
    consumer.close()
    assert len(places) == 30
    assert set(places.values()) == {0, 1, 2}


def test_a_protected_broker_does_the_same() -> None:
    with secured_broker({"alice": ["READ topic:orders"]}) as broker:
        broker.topic("orders", "one")
        assert [each.value for each in broker.read("orders")] == [b"one"]
        for asked in (broker.conf, broker.properties):
            with pytest.raises(HoldfastError, match=r"there is no user 'bob': this broker was made with admin, alice$"):
                asked("bob")


def test_several_brokers_are_clusters_of_their_own() -> None:
    with running_brokers(2) as (one, other):
        one.topic("here", "a")
        other.topic("there", "b")
        assert [each.value for each in one.read("here")] == [b"a"]
        with pytest.raises(HoldfastError):
            one.read("there")


@pytest.mark.parametrize(("options", "brokers"), [(["--holdfast-share"], 1), ([], 2)], ids=["shared", "one each"])
def test_workers_of_xdist_share_a_broker_or_have_one_each(tmp_path: Path, options: list[str], brokers: int) -> None:
    (tmp_path / "test_one.py").write_text(SHARED)
    (tmp_path / "test_two.py").write_text(SHARED.replace("one", "two"))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-n",
        "2",
        "--dist",
        "loadfile",
        *options,
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    seen = {each.name.rpartition("-")[2] for each in (tmp_path / "seen").iterdir()}
    assert len(seen) == brokers


def test_a_script_of_any_language_gets_a_broker_and_lets_it_go(place: Path) -> None:
    """It is there when its address is printed, and gone with its folder when it was told to."""
    up = holdfast("testing", "up", "--print-bootstrap", "--topic", "orders:2", "--set", "num.partitions=3", place=place)
    address = up.stdout.strip()
    assert up.stdout == f"{address}\n"
    assert "2 partitions" in holdfast("topic", "describe", "orders", "--bootstrap", address, place=place).stdout
    assert len(list(place.glob(f"{PREFIX}*"))) == 1
    holdfast("testing", "down", address, place=place)
    until = time.monotonic() + 30
    while any(place.iterdir()) and time.monotonic() < until:
        time.sleep(0.05)
    assert list(place.iterdir()) == []
    assert "was started by" in holdfast("testing", "down", address, place=place, code=1).stderr


def test_a_broker_that_cannot_start_says_why(place: Path) -> None:
    done = holdfast("testing", "up", "--print-bootstrap", "--set", "num.partitions=many", place=place, code=1)
    assert (done.stdout, "num.partitions" in done.stderr) == ("", True)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """For temporary folders, of this test alone."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    return folder


def holdfast(*arguments: str, place: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    surroundings = clean | {"TMPDIR": str(place)}
    done = subprocess.run([COMMAND, *arguments], env=surroundings, capture_output=True, text=True, timeout=90)
    assert done.returncode == code, done.stderr
    return done
