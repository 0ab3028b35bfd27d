"""The formats as they are stored: earlier data opens, the writer still writes it, and the pages describe it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from holdfast.io.objects.memory import MemoryObjects
from holdfast.io.versions import Stamp
from holdfast.segment.manifest.changes import Append, RaiseEpoch
from holdfast.segment.manifest.codec import Full, encode
from holdfast.segment.manifest.info import Aborted
from holdfast.segment.manifest.load import load_manifest
from holdfast.segment.manifest.manifest import AppendedSegment, EpochStart, Manifest
from holdfast.segment.producers import ProducerBatch, ProducerState
from holdfast.segment.verify import verify
from holdfast.segment.writer import encode_segment
from holdfast.types import PartitionId

GOLDEN = Path(__file__).parent / "golden"
PAGES = Path(__file__).parents[2] / "docs" / "formats"
HOME = PartitionId(UUID("00112233-4455-6677-8899-aabbccddeeff"), 3)
PRODUCERS = {7: ProducerState(7, 1, (ProducerBatch(0, 2, 100, 1000),), 101, 5, 1000, 60_000)}

ABORTED = (Aborted(7, 90, 102, 103),)
SIZES = {"u16": 2, "u32": 4, "i32": 4, "u64": 8, "i64": 8, "4 bytes": 4, "8 bytes": 8, "16 bytes": 16}


@pytest.fixture
def segment(make_batch):
    batches = [make_batch(100, 2), make_batch(102, 1)]
    buffers, info = encode_segment(
        batches, home=HOME, epoch=4, tag="00000000000000ab", producers=PRODUCERS, aborted=ABORTED
    )
    return b"".join(buffers), info


@pytest.fixture
def manifests(segment):
    first = Manifest(HOME, "cluster", 0, Stamp(4, "w", "00"), (EpochStart(4, 0),), log_start=100, flushed=100)
    append = Append((segment[1],), 101, PRODUCERS, 0.0, 7, 61_000)
    second = RaiseEpoch(5, 103).apply(append.apply(first))
    second = replace(second, version=1, stamp=Stamp(5, "w", "01"))
    return [(first, []), (second, [append.step()])]


def without_times(producers):
    """As the first release knew them: it did not keep when a producer was heard of."""
    return {number: replace(state, heard_ms=0) for number, state in producers.items()}


def test_a_segment_of_version_1_opens(segment):
    """O5: as it was written by the first release."""
    data = (GOLDEN / "segment-v1.seg").read_bytes()
    found = verify(segment[1].name, data)
    shorter = len(segment[0]) - len(data)
    assert found.info() == replace(segment[1], size=len(data), tail_size=segment[1].tail_size - shorter)
    assert found.producers() == without_times(PRODUCERS)
    assert 0 < shorter < 10, "the time of one producer"


def test_a_segment_of_version_2_opens(segment):
    """O5: as it is written now, byte for byte."""
    data = (GOLDEN / "segment-v2.seg").read_bytes()
    found = verify(segment[1].name, data)
    assert found.info() == segment[1]
    assert found.producers() == PRODUCERS
    assert data == segment[0]


def test_manifests_of_version_1_open(manifests):
    """O5: a full list, and changes on top of it. Of whom the partition has forgotten they say nothing."""
    objects = MemoryObjects()
    for number, (manifest, _) in enumerate(manifests):
        data = (GOLDEN / f"manifest-v1-{number}.json").read_bytes()
        objects.put(f"{HOME.manifests}{number:020}.json", [data])
        found = load_manifest(objects, HOME)
        known = {"forgotten_below": None, "running_ms": 0, "producers": without_times(manifest.producers)}
        assert replace(found, segments=manifest.segments) == replace(manifest, **known)
        assert [each.name for each in found.segments] == [each.name for each in manifest.segments]


def test_manifests_of_version_2_open(manifests):
    """O5: a full list, and changes on top of it, of segments and of producers; who wrote, and who last appended."""
    objects = MemoryObjects()
    for number, (manifest, steps) in enumerate(manifests):
        data = (GOLDEN / f"manifest-v2-{number}.json").read_bytes()
        objects.put(f"{HOME.manifests}{number:020}.json", [data])
        named = replace(
            manifest, stamp=manifest.stamp._replace(incarnation="5" * 32), appended=AppendedSegment("6" * 32, "7" * 32)
        )
        assert load_manifest(objects, HOME) == named
        assert data == encode(named, steps, Full().after(named))


def test_the_page_describes_every_byte(segment):
    """O5: the tables of the page, read by this test, find the fields where the writer put them."""
    data, info = segment
    page = (PAGES / "segment.md").read_text()
    header, size = fields(page, "Header", data)
    assert (header["magic"], header["partition"], header["base"], size) == (b"HFSEGMNT", 3, 100, 44)
    footer, size = fields(page, "Footer", data[-120:])
    assert size == 120
    assert (footer["topic id"], footer["end"], footer["record count"]) == (HOME.topic_id.bytes, 103, 3)
    assert (footer["magic"], footer["footer size"], footer["version"]) == (b"HFSE", 120, 2)
    entry, size = fields(page, "Index", data[footer["index position"] :])
    assert (entry["base offset"], entry["position"], entry["batch count"], size) == (100, 44, 2, 32)
    aborted = footer["index position"] + footer["index size"] + footer["producers size"]
    found, size = fields(page, "Aborted transactions", data[aborted:])
    assert (tuple(found.values()), size) == (ABORTED[0], 32)
    assert info.tail_size == footer["index size"] + footer["producers size"] + footer["aborted size"] + 120


def fields(page, title, data):
    """The fields of the table under a title, read from bytes, and where the last one ends."""
    section = re.search(rf"^## {title}.*?(?=^## |\Z)", page, re.M | re.S)[0]
    found, expected = {}, 0
    for at, name, kind in re.findall(r"^\| (\d+) \| ([\w ]+) \| ([\w ]+) \|", section, re.M):
        assert int(at) == expected, name
        expected += SIZES[kind]
        raw = data[int(at) : expected]
        signed = kind.startswith("i")
        found[name] = raw if kind.endswith("bytes") else int.from_bytes(raw, "little", signed=signed)
    return found, expected
