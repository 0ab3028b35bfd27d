"""`holdfast sync` between clusters that are protected, each in its own way."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.broker_process import COMMAND
from tests.support.every_way import MARK, EveryWay
from tests.sync.sides import assert_equal, numbered, read_topic, write

from holdfast.client import Client


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[EveryWay, EveryWay]]:
    folder, settings = tmp_path_factory.mktemp("protected"), ("log.retention.ms=-1", "connections.max.reauth.ms=1500")
    a, b = EveryWay(folder / "a", *settings), EveryWay(folder / "b", *settings)
    with a.running(), b.running():
        yield a, b


def sync(a: EveryWay, b: EveryWay, ways: tuple[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    files = [str(each.file(way, "sync.properties")) for each, way in zip((a, b), ways, strict=True)]
    ends = [f"localhost:{each.port(way)}" for each, way in zip((a, b), ways, strict=True)]
    command = [COMMAND, "sync", *ends, "--config-a", files[0], "--config-b", files[1], *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(
    "ways",
    [
        ("SASL_SSL SCRAM-SHA-512", "SSL certificate"),
        ("SASL_PLAINTEXT PLAIN", "SASL_SSL OAUTHBEARER"),
        ("PLAINTEXT", "SASL_SSL SCRAM-SHA-256"),
    ],
    ids=lambda ways: " to ".join(ways),
)
def test_clusters_are_made_equal_both_ways(places: tuple[EveryWay, EveryWay], ways: tuple[str, str]) -> None:
    """X11: and no secret is in what was told, nor in what either cluster keeps of the sync."""
    a, b = places
    here, there = f"a-{ways[0]}".replace(" ", "-"), f"b-{ways[1]}".replace(" ", "-")
    with Client(a.process.address) as at_a, Client(b.process.address) as at_b:
        for client, topic in ((at_a, here), (at_b, there)):
            client.create_topics({topic: 1})
            write(client, topic, 0, numbered(topic, 500))
        done = sync(a, b, ways, "--both", "--once", "--json")
        assert done.returncode == 0, done.stderr
        for topic in (here, there):
            assert_equal(read_topic(at_a, topic), read_topic(at_b, topic))
    assert MARK not in done.stdout + done.stderr
    for each in places:
        kept = b"".join(file.read_bytes() for file in (each.folder / "data").rglob("*") if file.is_file())
        assert not any(secret.encode() in kept for secret in each.secrets())


def test_a_wrong_password_ends_it_at_once(places: tuple[EveryWay, EveryWay], tmp_path: Path) -> None:
    """X11: a sync that would wait for ever for a broker that is away does not wait here."""
    a, b = places
    way = "SASL_SSL SCRAM-SHA-512"
    config = str(b.file(way, "wrong.properties", password=f"{MARK}wrong"))
    ends = [a.process.address, f"localhost:{b.port(way)}"]
    command = [COMMAND, "sync", *ends, "--config-b", config]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1
    assert "correct sasl.jaas.config" in done.stderr
    assert MARK not in done.stdout + done.stderr
