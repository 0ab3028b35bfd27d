"""Everybody who reads or judges a store, asked about the same data directory: an exit code, and what was said."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from crc32c import crc32c
from tests.broker.inside import InsideBroker
from tests.broker.wire import Wire, fetch
from tests.operate.directory import SETTINGS, in_broker, newer_envelope, partition, run, serve, topic_folder
from tests.subscribe.place import a_place
from tests.subscribe.stores import QuickCalls

from holdfast.broker.running import Opened
from holdfast.catalog.plan import plan
from holdfast.catalog.read import read
from holdfast.catalog.store import find_store
from holdfast.cli.audit.evidence import evidence_of
from holdfast.errors import HoldfastError
from holdfast.io.clock import SystemClock
from holdfast.io.objects.local.objects import LocalObjects
from holdfast.operate.place import find_partitions
from holdfast.record.batch import split
from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.segment import format as segment_format
from holdfast.segment.format import FOOTER_SIZE, HEADER_SIZE, decode_footer, encode_footer
from holdfast.segment.index import decode_tail
from holdfast.segment.manifest import codec as manifest_json
from holdfast.segment.manifest.load import load_manifest
from holdfast.spark.jobs.audit.audit import audit
from holdfast.spark.jobs.audit.segment import Suspect, check_segment
from holdfast.spark.source.options import parse
from holdfast.spark.source.ranges import ranges_of
from holdfast.spark.source.view import whole_view
from holdfast.subscribe import NOW, subscribe

COUNT = 90  # Batches of one record of so many bytes in each of three segments, which makes two intervals of each.
SIZE = 1000
T0 = 1_700_000_000_000
DAMAGED = 130  # The offset whose batch is hurt: in the middle segment, behind others of its interval.


def fill(data: Path) -> None:
    """A data directory that a broker has left, all of it in segments."""

    async def work(broker: Opened) -> None:
        await broker.context.topics.create("orders", 1, {})
        log = partition(broker, 0)
        for _ in range(3):
            for _ in range(COUNT):
                offset = log.marks.log_end
                await log.append(build([Record(b"k", bytes(SIZE), T0 + offset)]))
            await log.flush()

    in_broker(data, work)


class Fault(NamedTuple):
    """A store with something wrong: what hurts it, and the words that everybody has for it."""

    hurt: Callable[[Path], str]  # Of the data directory; the name of the object that is meant.
    words: str
    at_start: bool = False  # A broker meets it before it serves anybody.


def segment(data: Path, number: int = 1) -> Path:
    return sorted(topic_folder(data, 0, "segments").glob("*.seg"))[number]


def name_of(data: Path, path: Path) -> str:
    return str(path.relative_to(data / "objects"))


def _batch_at(data: bytes, offset: int) -> tuple[int, int]:
    """Where a batch lies in a segment."""
    position = HEADER_SIZE
    for header, batch in split(data[HEADER_SIZE : decode_footer("it", data).index_position]):
        if header.base_offset == offset:
            return position, position + len(batch)
        position += len(batch)
    raise AssertionError(offset)


def wrong_batch_crc(data: Path) -> str:
    """A byte of a batch changed before its segment was written: interval, index and footer say nothing of it."""
    path = segment(data)
    found = bytearray(path.read_bytes())
    _, end = _batch_at(bytes(found), DAMAGED)
    found[end - 3] ^= 0xFF
    opened = decode_tail("it", bytes(segment(data).read_bytes()), len(found))
    index = opened.index.copy()
    for number in range(len(index)):
        start, stop, _ = opened.interval(number)
        index[number]["crc"] = crc32c(found[start:stop])
    footer = opened.footer
    rest = footer.index_position + footer.index_size
    sections = index.tobytes() + bytes(found[rest : len(found) - FOOTER_SIZE])
    made = encode_footer(footer._replace(sections_crc=crc32c(sections)))
    path.write_bytes(bytes(found[: footer.index_position]) + sections + made)
    return name_of(data, path)


def wrong_interval_crc(data: Path) -> str:
    """A byte that no batch's crc covers, its leader epoch, changed in the store."""
    path = segment(data)
    found = bytearray(path.read_bytes())
    start, _ = _batch_at(bytes(found), DAMAGED)
    found[start + 13] ^= 0xFF
    path.write_bytes(found)
    return name_of(data, path)


def lost_segment(data: Path) -> str:
    path = segment(data)
    path.unlink()
    return name_of(data, path)


def newer_segment(data: Path) -> str:
    """As a later release would write it: the footer says so, and its crc is right."""
    path = segment(data)
    found = path.read_bytes()
    ending = bytearray(found[-FOOTER_SIZE:])
    version_at = FOOTER_SIZE - segment_format._ENDING.size
    ending[version_at : version_at + 2] = (99).to_bytes(2, "little")
    ending[-4:] = crc32c(bytes(ending[:-4])).to_bytes(4, "little")
    path.write_bytes(found[:-FOOTER_SIZE] + bytes(ending))
    return name_of(data, path)


def newer_manifest(data: Path) -> str:
    path = sorted(topic_folder(data, 0, "manifests").glob("0*.json"))[-1]
    path.write_bytes(newer_envelope(path.read_bytes(), manifest_json.KIND))
    return name_of(data, path)


def newer_cluster(data: Path) -> str:
    (data / "objects" / "cluster.json").write_text('{"version": 99, "cluster": "x", "realm": "y"}')
    return "cluster.json"


def damaged_cluster(data: Path) -> str:
    (data / "objects" / "cluster.json").write_bytes(b'{"version": 1, "clus')
    return "cluster.json"


FAULTS: Mapping[str, Fault] = {
    "wrong batch crc": Fault(wrong_batch_crc, f"the crc of the batch at offset {DAMAGED} is wrong"),
    "wrong interval crc": Fault(wrong_interval_crc, "the crc of bytes {start} to {end} is wrong"),
    "lost segment": Fault(lost_segment, "is not in the store, but manifest version 3 lists it"),
    "newer segment": Fault(
        newer_segment, f"has format version 99; this release knows up to {segment_format.VERSION}: use a newer one"
    ),
    "newer manifest": Fault(
        newer_manifest,
        f"has format version 99; this release knows up to {manifest_json.FORMAT}: use a newer one",
        at_start=True,
    ),
    "newer cluster": Fault(
        newer_cluster, "has format version 99; this release knows up to 1: use a newer one", at_start=True
    ),
    "damaged cluster": Fault(damaged_cluster, "it does not say which cluster the store belongs to", at_start=True),
}


def words_of(data: Path, fault: Fault) -> str:
    """The words, with the bytes of the interval that is hurt. To be asked for before anything is."""
    found = segment(data).read_bytes()
    opened = decode_tail("it", found, len(found))
    interval = opened.interval(opened.interval_of_offset(DAMAGED))
    return fault.words.format(start=interval.start, end=interval.end)


class Answer(NamedTuple):
    """What somebody says of a store."""

    code: int
    said: str
    has_name: bool = True  # A client of a broker cannot know in which object the broker found the bytes.


class Tools(NamedTuple):
    """What some need to be asked."""

    logged: Callable[[], str]  # What this process has logged so far.
    spark: Callable[[], Any]
    place: Path  # An empty folder.


Asker = Callable[[Path, Fault, Tools], Answer]


@contextlib.contextmanager
def _raised() -> Iterator[list[str]]:
    """What a part of the library raises on purpose, as a sentence; anything else is no verdict."""
    said: list[str] = []
    try:
        yield said
    except HoldfastError as failure:
        said.append(str(failure))


def fetched(data: Path, fault: Fault, tools: Tools) -> Answer:
    """A Kafka client fetches from the offset that is hurt: an error code, and the broker's own log.

    A broker holds intervals against their crcs, and hands batches on as they are: their own crc is for the client.
    """
    if fault.at_start:
        return Answer(*serve("--data", data))
    with InsideBroker(data, LocalObjects(data / "objects"), wal=SETTINGS.wal) as broker, Wire(broker.port) as wire:
        first = fetch(wire, "orders", DAMAGED)
        if first.error_code:
            return Answer(first.error_code, tools.logged())
        code, said = run("consume", "orders", "--bootstrap", f"127.0.0.1:{broker.port}", "--no-follow")
        return Answer(code, "" if code == 0 else said, has_name=False)


def verified(data: Path, _: Fault, __: Tools) -> Answer:
    return Answer(*run("log", "verify", data))


def repaired(data: Path, _: Fault, __: Tools) -> Answer:
    return Answer(*run("repair", data))


def backed_up(data: Path, _: Fault, tools: Tools) -> Answer:
    return Answer(*run("backup", data, tools.place / "backup"))


def segments_audited(data: Path, _: Fault, __: Tools) -> Answer:
    """What audit's executors do, without Spark."""
    with _raised() as said:
        store = find_store(str(data))
        for home in find_partitions(store.open(), None, None):
            manifest = load_manifest(store.open(), home)
            for info in manifest.segments:
                for report in check_segment(store.open(), Suspect.of(manifest, info)):
                    said += report.problems
    return Answer(int(bool(said)), "\n".join(said))


def audited(data: Path, _: Fault, tools: Tools) -> Answer:
    """The whole job."""
    with _raised() as said:
        store = find_store(str(data))
        reports = audit(tools.spark(), store, ["orders"], evidence_of(str(data), store, None, None))
        assert all(each.is_sound for each in reports) == (not any(each.problems for each in reports))
        said += [problem for report in reports for problem in report.problems]
    return Answer(int(bool(said)), "\n".join(said))


def _spark_read(data: Path, **more: str) -> Answer:
    with _raised() as said:
        options = parse({"path": str(data), "subscribe": "orders", **more}, stream=False)
        view = whole_view(options)
        for task in plan(view.catalog, ranges_of(view, options, SystemClock())):
            for _ in read(task, ["offset", "value"], view.catalog.store):
                pass
    return Answer(int(bool(said)), "\n".join(said))


def spark_read(data: Path, _: Fault, __: Tools) -> Answer:
    """What a batch read does on the driver and on executors."""
    return _spark_read(data)


def spark_looked_up(data: Path, _: Fault, __: Tools) -> Answer:
    """A read that starts at the time of the record that is hurt."""
    return _spark_read(data, startingTimestamp=str(T0 + DAMAGED))


def spark_session_read(data: Path, _: Fault, tools: Tools) -> Answer:
    """A DataFrame of a real session."""
    try:
        frame = tools.spark().read.format("holdfast").option("subscribe", "orders").load(str(data))
        frame.select("offset").collect()
    except Exception as failure:
        return Answer(1, str(failure))
    return Answer(0, "")


def _subscribed(data: Path, fault: Fault, *, refs: bool) -> Answer:
    if fault.at_start:
        return Answer(*serve("--data", data))
    objects = LocalObjects(data / "objects")

    async def follow() -> None:
        async with a_place(data, objects) as place:
            options = {"segment_refs": refs, "objects": objects, "calls": QuickCalls()}
            async for _ in subscribe(place.address, "orders", since=0, until=NOW, **options):
                pass

    with _raised() as said:
        asyncio.run(follow())
    return Answer(int(bool(said)), "\n".join(said), has_name=refs or fault.hurt is not wrong_batch_crc)


def subscribed(data: Path, fault: Fault, _: Tools) -> Answer:
    """The server reads the segments."""
    return _subscribed(data, fault, refs=False)


def subscribed_by_reference(data: Path, fault: Fault, _: Tools) -> Answer:
    """The client reads the segments."""
    return _subscribed(data, fault, refs=True)


ASKERS: Mapping[str, Asker] = {
    "fetch": fetched,
    "log verify": verified,
    "repair": repaired,
    "backup": backed_up,
    "audit of segments": segments_audited,
    "spark read": spark_read,
    "spark lookup": spark_looked_up,
    "subscribe": subscribed,
    "subscribe by reference": subscribed_by_reference,
}
ON_SPARK: Mapping[str, Asker] = {"audit": audited, "spark session": spark_session_read}
