"""Faults that are planted into a stored cluster for audit to find."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import numpy as np
from crc32c import crc32c
from tests.spark.stored import Stored

from holdfast.io.envelope import seal, unseal
from holdfast.record.batch import split
from holdfast.segment.format import FOOTER_SIZE, HEADER_SIZE, INDEX_ENTRY, decode_footer, encode_footer
from holdfast.segment.index import decode_tail
from holdfast.segment.manifest.codec import FORMAT
from holdfast.segment.manifest.load import load_manifest
from holdfast.types import PartitionId


def home_of(cluster: Stored, partition: int = 0) -> PartitionId:
    names = [each.name for each in cluster.objects.list("segments/")]
    topic = next(each.split("/")[1] for each in names if each.split("/")[2] == str(partition))
    return PartitionId(UUID(hex=topic), partition)


def segment_path(cluster: Stored, number: int) -> Path:
    info = load_manifest(cluster.objects, home_of(cluster)).segments[number]
    return cluster.data / "objects" / info.name


def missing_segment(cluster: Stored) -> None:
    segment_path(cluster, 1).unlink()


def flipped_byte(cluster: Stored) -> None:
    path = segment_path(cluster, 1)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def flipped_byte_in_header(cluster: Stored) -> None:
    path = segment_path(cluster, 0)
    data = bytearray(path.read_bytes())
    data[9] ^= 1
    path.write_bytes(data)


def flipped_byte_in_index(cluster: Stored) -> None:
    path = segment_path(cluster, 2)
    info = load_manifest(cluster.objects, home_of(cluster)).segments[2]
    data = bytearray(path.read_bytes())
    data[info.size - info.tail_size + 3] ^= 1
    path.write_bytes(data)


def newest_manifest_deleted(cluster: Stored) -> None:
    home = home_of(cluster)
    version = load_manifest(cluster.objects, home).version
    cluster.objects.delete(f"{home.manifests}{version:020}.json")


def manifest_in_the_middle_deleted(cluster: Stored) -> None:
    home = home_of(cluster)
    version = load_manifest(cluster.objects, home).version
    cluster.objects.delete(f"{home.manifests}{version - 1:020}.json")


def partition_deleted(cluster: Stored) -> None:
    home = home_of(cluster)
    for prefix in (home.manifests, home.segments):
        for each in list(cluster.objects.list(prefix)):
            cluster.objects.delete(each.name)


def rewrite(cluster: Stored, change: Callable[[list[bytes]], list[bytes]]) -> None:
    """Write a segment again with other batches, every crc right: as a broken flush would have stored it."""
    path = segment_path(cluster, 1)
    data = path.read_bytes()
    footer = decode_footer("it", data)
    batches = [bytes(view) for _, view in split(data[HEADER_SIZE : footer.index_position])]
    changed = b"".join(change(batches))
    index = np.frombuffer(data[footer.index_position :][: footer.index_size], INDEX_ENTRY).copy()
    assert len(index) == 1
    index["crc"] = crc32c(changed)
    rest = data[footer.index_position + footer.index_size : len(data) - FOOTER_SIZE]
    sections = index.tobytes() + rest
    count = len(change(batches))
    made = footer._replace(
        index_position=HEADER_SIZE + len(changed),
        record_count=100 * count,
        batch_count=count,
        sections_crc=crc32c(sections),
    )
    path.write_bytes(data[:HEADER_SIZE] + changed + sections + encode_footer(made))
    point_to(cluster, path)


def point_to(cluster: Stored, path: Path) -> None:
    """Let the manifest describe the changed segment."""
    home = home_of(cluster)
    manifest = load_manifest(cluster.objects, home)
    name = f"{home.manifests}{manifest.version:020}.json"
    body = unseal(name, "manifest", FORMAT, cluster.objects.get(name))
    data = path.read_bytes()
    info = decode_tail(manifest.segments[1].name, data, len(data)).info()
    for kind, rows in body["steps"]:
        for number, row in enumerate(rows):
            if kind == "append" and row[0] == path.name:
                rows[number] = info.to_row()
    cluster.objects.put(name, [seal("manifest", FORMAT, body)])
