"""Backup and restore: while producers write, what was acknowledged before it began comes back; afterwards, too."""

from __future__ import annotations

import asyncio
import json
import shutil
import threading
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from tests.operate.directory import (
    ENDS,
    SIZE,
    append,
    content,
    expected,
    flip,
    in_broker,
    partition,
    read_orders,
    repair,
    run,
    topic_folder,
)

from holdfast.broker.running import Opened
from holdfast.cluster.identity import CLUSTER
from holdfast.io.believed_time import KNOWN, KnownTime, read_known
from holdfast.io.clock import SystemClock
from holdfast.io.disk import RealDirectory
from holdfast.io.objects.faulty import Delay, FaultyObjects
from holdfast.io.objects.local.objects import LocalObjects
from holdfast.log.settings import DAY_MS
from holdfast.operate.backup.run import back_up
from holdfast.operate.backup.wal import copy_log
from holdfast.operate.place import topic_names
from holdfast.segment.garbage import collect_partition
from holdfast.segment.manifest.load import load_manifest
from holdfast.testing.process import RunningBroker
from holdfast.types import PartitionId
from holdfast.wal import LogId, Wal, WalSettings


def read_all(broker: RunningBroker, topic: str, partitions: int) -> list[bytes]:
    """Every value in a topic."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "check", "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
    found: list[bytes] = []
    ended: set[int] = set()
    while len(ended) < partitions:
        message = consumer.poll(60)
        assert message is not None, "the broker does not answer"
        if message.error() is None:
            found.append(message.value())
        else:
            ended.add(message.partition())
    consumer.close()
    return found


class Writing(threading.Thread):
    """A producer that writes until it is told to stop, and remembers what was acknowledged."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(daemon=True)
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 1})
        self._ending = threading.Event()
        self.acknowledged: list[bytes] = []
        self.many = threading.Event()

    def run(self) -> None:
        number = 0
        while not self._ending.is_set():
            value = b"%d " % number + bytes(2000)
            self._producer.produce("orders", value, partition=number % 4, on_delivery=self._note)
            number += 1
            self._producer.poll(0.001)
            if number % 50 == 0:
                self._producer.flush(30)
        self._producer.flush(30)

    def _note(self, error: object, message: object) -> None:
        if error is None:
            self.acknowledged.append(message.value())  # type: ignore[attr-defined]
            if len(self.acknowledged) >= 500:
                self.many.set()

    def stop(self) -> None:
        self._ending.set()
        self.join(60)


def test_a_backup_under_load_has_everything_that_was_acknowledged_before(tmp_path: Path) -> None:
    """O4: chunks are purged and segments flushed while the copy is made; the restored broker has every record that
    was acknowledged before the backup began, once, and a second backup brings it up to date. The test of O4."""
    options = ["--set", f"wal.chunk_size_max={256 << 10}", "--set", f"log.segment_size_max={128 << 10}"]
    options += ["--set", f"log.wal_size_max={2 << 20}", "--set", "num.partitions=4"]
    data, copy = tmp_path / "data", tmp_path / "copy"
    with RunningBroker(data, options=options) as broker:
        writing = Writing(broker.bootstrap)
        writing.start()
        for _ in range(2):
            assert writing.many.wait(60)
            before = list(writing.acknowledged)
            code, output = run("backup", data, copy)
            assert code == 0, output
        writing.stop()
        assert len(writing.acknowledged) > len(before), "Nothing was written meanwhile: the test shows nothing."
    assert run("restore", copy, tmp_path / "again")[0] == 0
    with RunningBroker(tmp_path / "again", options=options) as broker:
        found = read_all(broker, "orders", 4)
        assert broker.stop() == 0
    assert len(found) == len(set(found))
    assert set(before) <= set(found)
    assert run("log", "verify", tmp_path / "again")[0] == 0


def test_a_store_elsewhere_is_backed_up_and_restored(data: Path, tmp_path: Path) -> None:
    """O4: the segments are in a store of their own, and go to another one."""
    shutil.move(data / "objects", tmp_path / "bucket")
    stores = ["--store", tmp_path / "bucket", "--backup-store", tmp_path / "bucket-copy"]
    assert run("backup", data, tmp_path / "copy", *stores)[0] == 0
    shutil.rmtree(tmp_path / "bucket")
    shutil.rmtree(data)
    stores = ["--store", tmp_path / "new-bucket", "--backup-store", tmp_path / "bucket-copy"]
    assert run("restore", tmp_path / "copy", data, *stores)[0] == 0
    found = read_orders(data, str(tmp_path / "new-bucket"))
    assert found == {str(n): expected(n, 0, end, SIZE) for n, end in ENDS.items()}


def test_records_that_are_set_aside_are_in_the_backup(data: Path, tmp_path: Path) -> None:
    """O2, O4: they are in neither the log nor the store, but were acknowledged: a restored directory can be repaired
    as the original could. What a repair has put back leaves the backup."""
    names = topic_names(LocalObjects(data / "objects"))
    [topic] = [topic_id.hex for topic_id, name in names.items() if name == "orders"]
    flip(sorted((data / "objects" / "manifests" / topic / "1").glob("0*.json"))[-1], 300)
    in_broker(data, lambda _: asyncio.sleep(0))
    [kept] = (data / "quarantine").glob("*.tail")
    for words in (("backup", data, tmp_path / "copy"), ("restore", tmp_path / "copy", tmp_path / "again")):
        code, output = run(*words)
        assert (code, "is damaged: its crc is wrong; it is copied as it is" in output) == (1, True)
    for place in (tmp_path / "again", data):
        _, items, summary = repair(place)
        assert "offsets" not in {each["kind"] for each in items}
        assert repair(place, "--accept-loss", summary["token"])[0] == 0
        assert read_orders(place)["1"] == expected(1, 0, 100, SIZE)
    assert run("backup", data, tmp_path / "copy")[0] == 0
    assert not (tmp_path / "copy" / "quarantine" / kept.name).exists()


def test_a_repair_behind_a_backups_back_takes_nothing_out_of_it(data: Path, tmp_path: Path) -> None:
    """O2, O4: records that are put back into the store when that is copied already stay in the copy's quarantine."""
    flip(sorted(topic_folder(data, 1, "manifests").glob("0*.json"))[-1], 300)
    in_broker(data, lambda _: asyncio.sleep(0))
    [kept] = (data / "quarantine").glob("*.tail")

    def put_back() -> None:
        assert repair(data, "--accept-loss", repair(data)[2]["token"])[0] == 0

    copied = LocalObjects(tmp_path / "copy" / "objects")
    target = FaultyObjects(copied, lambda call: Delay(put_back) if call[1:] == ("put", CLUSTER) else None)
    back_up(RealDirectory(data / "wal"), data, LocalObjects(data / "objects"), tmp_path / "copy", target)
    assert not kept.exists()
    assert run("restore", tmp_path / "copy", tmp_path / "again")[0] == 1  # The damaged manifest is in the copy, too.
    _, items, summary = repair(tmp_path / "again")
    assert "offsets" not in {each["kind"] for each in items}
    assert repair(tmp_path / "again", "--accept-loss", summary["token"])[0] == 0
    assert read_orders(tmp_path / "again")["1"] == expected(1, 0, 100, SIZE)


def test_a_cold_copy_of_the_directory_is_a_backup(data: Path, tmp_path: Path) -> None:
    """O4: while no broker runs, any tool that copies files will do."""
    in_broker(data, lambda _: asyncio.sleep(0))
    shutil.copytree(data, tmp_path / "copy")
    assert read_orders(tmp_path / "copy")["0"] == expected(0, 0, 100, SIZE)


def test_a_second_backup_copies_only_what_is_new_and_lets_go_of_what_is_gone(data: Path, tmp_path: Path) -> None:
    """O4: segments are copied once; those that the source has no more go."""
    copy = tmp_path / "copy"
    first = json.loads(run("backup", data, copy, "--json")[1])

    async def go_on(broker: Opened) -> None:
        await append(partition(broker, 1), 1, 5, SIZE)
        await partition(broker, 2).delete_records(80)

    in_broker(data, go_on)
    second = json.loads(run("backup", data, copy, "--json")[1])
    assert 0 < second["objects"] < first["objects"]
    home: PartitionId = in_broker(data, _third)
    gone = [each.name for each in LocalObjects(copy / "objects").list(home.segments)]
    assert len(gone) == 2
    shutil.rmtree(data / "objects" / home.segments)  # As the garbage collector does: no manifest lists them.
    run("backup", data, copy)
    assert not set(gone) & set(content(copy / "objects"))
    assert read_orders(copy)["1"] == expected(1, 0, 105, SIZE)


async def _third(broker: Opened) -> PartitionId:
    return partition(broker, 2).home


def test_a_restore_knows_what_time_it_was(data: Path, tmp_path: Path) -> None:
    """O4, D12: put back by a machine whose clock is eight days ahead, no record is old for that. What is restored is
    read, written, and its garbage collected; what is listed stays."""
    week_ago = KnownTime(SystemClock().now_ms() - 8 * DAY_MS)
    LocalObjects(data / "objects").put(KNOWN, [week_ago.encode()])
    assert run("backup", data, tmp_path / "copy")[0] == 0
    assert run("restore", tmp_path / "copy", tmp_path / "again")[0] == 0
    store = LocalObjects(tmp_path / "again" / "objects")
    assert read_known(store) == week_ago

    async def go_on(broker: Opened) -> PartitionId:
        log = partition(broker, 1)
        await append(log, 1, 5, SIZE)
        return log.home

    home = in_broker(tmp_path / "again", go_on)
    listed = {each.name for each in load_manifest(store, home).segments}
    stray = sorted(listed)[0].replace(".seg", "") + "0.seg"
    store.put(stray, [b"nobody lists it"])
    collected = collect_partition(store, home, SystemClock().now_ms() + DAY_MS)
    assert [each.name for each in collected.segments] == [stray]
    assert {each.name for each in store.list(home.segments)} == listed
    assert read_orders(tmp_path / "again")["1"] == expected(1, 0, 105, SIZE)


def test_a_restore_never_writes_over_anything(data: Path, tmp_path: Path) -> None:
    """O4: neither over a directory, nor over a store, nor from a backup that did not end."""
    copy = tmp_path / "copy"
    assert run("backup", data, copy)[0] == 0
    for target, store in ((data, tmp_path / "new"), (tmp_path / "new", data / "objects")):
        before = content(data)
        code, output = run("restore", copy, target, "--store", store)
        assert code == 1
        assert "is there already" in output or "holds a cluster already" in output
        assert content(data) == before
    (copy / "backup.json").unlink()
    code, output = run("restore", copy, tmp_path / "other")
    assert code == 1
    assert "no whole backup" in output
    assert not content(tmp_path / "other")


def test_a_backup_is_of_one_cluster(data: Path, tmp_path: Path) -> None:
    """O1, O4: another cluster's backup is not written over."""
    in_broker(tmp_path / "stranger", lambda _: asyncio.sleep(0))
    assert run("backup", tmp_path / "stranger", tmp_path / "copy")[0] == 0
    before = content(tmp_path / "copy")
    code, output = run("backup", data, tmp_path / "copy")
    assert code == 1
    assert "is the backup of cluster" in output
    assert content(tmp_path / "copy") == before


def test_a_store_that_was_set_back_is_refused_partition_by_partition(data: Path, tmp_path: Path) -> None:
    """O4: an older store under a newer log: which partition, which offsets, and what to do."""
    shutil.copytree(data / "objects", tmp_path / "older")

    async def go_on(broker: Opened) -> None:
        for number in range(3):
            await append(partition(broker, number), number, 5, SIZE)

    in_broker(data, go_on)  # Its clean stop flushes everything, and purges the log.
    shutil.rmtree(data / "objects")
    shutil.copytree(tmp_path / "older", data / "objects")
    for number, told in read_orders(data).items():
        start, end = {"0": (0, 105), "1": (80, 105), "2": (80, 85)}[number]
        assert f"offsets [{start}, {end}) are neither in the store nor in the write-ahead log".encode() in told[0][1]
        assert b"holdfast repair" in told[0][1]


def test_a_log_is_copied_while_it_is_written_purged_and_recycled(tmp_path: Path) -> None:
    """O4: whatever moves meanwhile, the copy opens, and has every entry from its purge point to what was durable."""
    settings = WalSettings(chunk_size_max=16 << 10, zero_ahead_size=4096)
    source = RealDirectory(tmp_path / "wal")
    with Wal.open(source, settings) as wal:
        ending = threading.Event()
        durable = [0]

        def write_on() -> None:
            index = 0
            while not ending.is_set():
                wal.append(LogId(1, index), [b"%d." % index + bytes(500)])
                wal.sync()
                index += 1
                durable[0] = index
                if index % 200 == 0:
                    wal.purge(LogId(1, index - 100))

        writer = threading.Thread(target=write_on)
        writer.start()
        try:
            for number in range(6):
                before = durable[0]
                copy_log(source, tmp_path / f"copy-{number}")
                with Wal.open(RealDirectory(tmp_path / f"copy-{number}"), settings) as copy:
                    assert copy.state.next_index >= before
                    found = [bytes(each.payload) for each in copy.read(copy.state.first_index, 1 << 60)]
                    wanted = range(copy.state.first_index, copy.state.next_index)
                    assert [int(each.partition(b".")[0]) for each in found] == list(wanted)
        finally:
            ending.set()
            writer.join()
