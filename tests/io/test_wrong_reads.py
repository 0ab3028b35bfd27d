"""Reads that go wrong once, of bytes that are right: what the simulated disk and the faulty store give on a plan."""

from __future__ import annotations

from holdfast.io.chance import SeededChance
from holdfast.io.disk.simulated import SimulatedDisk
from holdfast.io.objects.faulty import FaultyObjects, WrongByte, in_order, once
from holdfast.io.objects.memory import MemoryObjects


def test_a_store_answers_once_with_a_wrong_byte() -> None:
    inner = MemoryObjects()
    inner.put("a", [b"right"])
    store = FaultyObjects(inner, in_order([None, WrongByte(0, bits=0x20), WrongByte(-1, bits=0x20), WrongByte(9)]))
    assert [store.get("a") for _ in range(5)] == [b"right", b"Right", b"righT", b"right", b"right"]
    assert inner.get("a") == b"right"


def test_a_wrong_byte_is_counted_within_what_is_asked_for() -> None:
    inner = MemoryObjects()
    inner.put("a", [b"right"])
    store = FaultyObjects(inner, in_order([WrongByte(1, bits=0x20)]))
    assert store.get("a", 1, 4) == b"iGh"


def test_a_plan_for_one_call_leaves_all_others_alone() -> None:
    inner = MemoryObjects()
    inner.put("segments/a", [b"a"])
    inner.put("manifests/a", [b"a"])
    store = FaultyObjects(inner, once("get", "segments/", WrongByte(0, bits=0x20)))
    assert store.size("segments/a") == 1
    assert [store.get(name) for name in ("manifests/a", "segments/a", "segments/a")] == [b"a", b"A", b"a"]


def test_a_disk_misreads_one_byte_as_often_as_it_is_told() -> None:
    disk = SimulatedDisk(SeededChance(1))
    file = disk.open("a", create=True)
    file.write_at(0, [b"right"])
    disk.misread_next("a", 1, bits=0x20, times=2)
    assert file.read_at(2, 9) == b"ght", "a read that does not reach the byte is right, and does not count"
    assert [file.read_at(0, 2), file.read_at(1, 4), file.read_at(0, 5)] == [b"rI", b"Ight", b"right"]
    assert disk.content("a") == b"right"


def test_a_process_that_is_gone_takes_its_wrong_reads_with_it() -> None:
    disk = SimulatedDisk(SeededChance(1))
    disk.open("a", create=True).write_at(0, [b"right"])
    disk.misread_next("a", 0)
    disk.kill()
    assert disk.open("a").read_at(0, 5) == b"right"


def test_a_disk_says_which_file_is_read_while_it_is() -> None:
    disk = SimulatedDisk(SeededChance(1))
    file = disk.open("a", create=True)
    seen: list[str] = []
    disk.during_read = seen.append
    file.read_at(0, 1)
    assert seen == ["a"]
