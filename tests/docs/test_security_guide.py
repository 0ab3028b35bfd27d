"""The guide to security is followed: its commands, its rights, its bucket policy."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from tests.support.broker_process import COMMAND
from tests.support.guide import blocks, rights, section

from holdfast.catalog import open_catalog, read_topic
from holdfast.testing import SecuredBroker, free_port, secured_broker

PATIENCE_S = 60


class Shell:
    """Commands in a folder, as a person types them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environment = {**os.environ, "PATH": f"{COMMAND.parent}:{os.environ['PATH']}"}

    def run(self, text: str, code: int = 0) -> str:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    @contextmanager
    def serving(self, text: str) -> Iterator[None]:
        """The last command of a block stays; it says where it listens."""
        process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", text.replace("\nholdfast serve", "\nexec holdfast serve")],
            cwd=self._folder,
            env=self._environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        try:
            for line in process.stderr:
                if "Kafka clients at" in line:
                    break
            else:
                pytest.fail("it did not start")
            yield
        finally:
            process.terminate()
            process.communicate(timeout=PATIENCE_S)


def test_from_nothing_to_tls_and_scram(tmp_path: Path) -> None:
    """X2, X4, X6, X7, X11: every command of the guide, one after the other."""
    shell, port = Shell(tmp_path), str(free_port())
    text = section("From nothing to TLS and SCRAM in ten minutes").replace("9093", port)
    authority, users, serve, clients, use = blocks(text, "sh")
    shell.run(authority)
    assert "user bob logs in" in shell.run(users)
    with shell.serving(serve):
        assert "Verify return code: 0" in shell.run(clients)
        assert "one order" in shell.run(use)
        at = f"--bootstrap localhost:{port} --command-config bob.properties"
        assert "authorization failed" in shell.run(f"echo x | holdfast produce orders {at}", code=1), "he only consumes"


def _properties(folder: Path, broker: SecuredBroker, user: str) -> Path:
    file = folder / f"{user}.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in broker.properties(user).items()))
    return file


def test_a_producer_a_consumer_and_a_transaction_need_what_the_table_says(tmp_path: Path) -> None:
    """X7: with these rights they work; which of them is missing is told by Kafka's own tests."""
    producing = rights("produces, idempotently or not")
    users = {
        "producer": producing,
        "shop": producing + rights("… in transactions"),
        "consumer": rights("consumes in a group"),
        "copier": producing + rights("sends offsets to a transaction"),
    }
    with secured_broker(users) as broker:
        first = Producer(broker.conf("admin"))
        first.produce("orders", b"zero")
        assert first.flush(PATIENCE_S) == 0
        idempotent = Producer({**broker.conf("producer"), "enable.idempotence": True})
        acked: list[object] = []
        idempotent.produce("orders", b"one", on_delivery=lambda error, _: acked.append(error))
        assert idempotent.flush(PATIENCE_S) == 0
        assert acked == [None]
        consumer = Consumer({**broker.conf("consumer"), "group.id": "billing", "auto.offset.reset": "earliest"})
        consumer.subscribe(["orders"])
        assert consumer.poll(PATIENCE_S).value() == b"zero"
        consumer.close()
        for user in ("shop", "copier"):
            writer = Producer({**broker.conf(user), "transactional.id": "shop"})
            writer.init_transactions(PATIENCE_S)
            writer.begin_transaction()
            writer.produce("orders", user.encode())
            if user == "copier":
                member = Consumer({**broker.conf(user), "group.id": "billing"})
                writer.send_offsets_to_transaction(
                    [TopicPartition("orders", 0, 1)], member.consumer_group_metadata(), PATIENCE_S
                )
                member.close()
            writer.commit_transaction(PATIENCE_S)


def test_a_sync_needs_what_the_table_says(tmp_path: Path) -> None:
    """X7, X11: at the source and at the target."""
    reading, writing = {"sync": rights("reads for `holdfast sync`")}, {"sync": rights("writes for `holdfast sync`")}
    with secured_broker(reading) as source, secured_broker(writing) as target:
        producer = Producer(source.conf("admin"))
        producer.produce("orders", b"one")
        assert producer.flush(PATIENCE_S) == 0
        member = Consumer({**source.conf("admin"), "group.id": "billing"})
        member.commit(offsets=[TopicPartition("orders", 0, 1)], asynchronous=False)
        member.close()
        files = [tmp_path / name for name in ("a", "b")]
        for folder in files:
            folder.mkdir()
        a, b = (_properties(folder, each, "sync") for folder, each in zip(files, (source, target), strict=True))
        Shell(tmp_path).run(
            f"holdfast sync {source.bootstrap} {target.bootstrap} --topics orders --once --config-a {a} --config-b {b}"
        )
        reader = Consumer({**target.conf("admin"), "group.id": "billing"})
        _, end = reader.get_watermark_offsets(TopicPartition("orders", 0), PATIENCE_S)
        assert reader.committed([TopicPartition("orders", 0)], PATIENCE_S)[0].offset == end > 0
        reader.close()


def test_the_policy_of_the_bucket_is_enough_to_read_topics_and_keeps_users_away(tmp_path: Path) -> None:
    """X6: `auth/` is not in it; what it leaves out nobody needs who reads."""
    [policy] = (json.loads(each) for each in blocks(section("The bucket"), "json"))
    allowed = [each.removeprefix("arn:aws:s3:::bucket/prefix/") for each in policy["Statement"][0]["Resource"]]
    data = tmp_path / "data"
    with secured_broker({}, data, log_flush_age_ms_max=100) as broker:
        producer = Producer(broker.conf("admin"))
        producer.produce("orders", b"one")
        assert producer.flush(PATIENCE_S) == 0
        broker.stop()
    store = data / "objects"
    for path in sorted(store.rglob("*"), reverse=True):
        name = path.relative_to(store).as_posix()
        if path.is_file() and not any(fnmatchcase(name, each) for each in allowed):
            path.unlink()
        elif path.is_dir() and not any(path.iterdir()):
            path.rmdir()
    assert not (store / "auth").exists()
    rows = [row for batch in read_topic(open_catalog(str(store)), "orders") for row in batch.to_pylist()]
    assert [row["value"] for row in rows] == [b"one"]
