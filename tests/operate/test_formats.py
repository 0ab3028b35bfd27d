"""Every format carries its version, and a newer one is refused by name, not misread: one test for each."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from uuid import UUID

import pytest
from tests.operate.directory import in_broker, newer_envelope, run, serve

from holdfast.cluster import metadata_log
from holdfast.cluster.identity import CLUSTER, decode_cluster
from holdfast.errors import Rejected
from holdfast.io.disk import RealDirectory
from holdfast.io.objects.local.objects import LocalObjects
from holdfast.io.store_errors import NewerFormat
from holdfast.log import entry
from holdfast.log import metadata as kept
from holdfast.log.recovery import quarantine
from holdfast.segment import format as segment_format
from holdfast.segment.manifest import codec as manifest_json
from holdfast.segment.verify import verify
from holdfast.types import PartitionId
from holdfast.wal import NewerLog, Wal
from holdfast.wal.format import record
from holdfast.wal.inspect import verify as verify_log


def first(data: Path, pattern: str) -> Path:
    return sorted((data / "objects").glob(pattern))[0]


def test_the_write_ahead_log_s_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """O5: the version is in the head of each chunk."""
    with monkeypatch.context() as patch:
        patch.setattr(record, "FORMAT_VERSION", 99)
        Wal.open(RealDirectory(tmp_path)).close()
    for look in (Wal.open, verify_log):
        with pytest.raises(NewerLog, match=r"version 99.*newer release"):
            look(RealDirectory(tmp_path))


def test_the_write_ahead_log_s_user_data() -> None:
    """O5: whose log it is, how far the store had come."""
    now = kept.LogMetadata(kept.Identity("c", "b", 1), {PartitionId(UUID(int=1), 0): 5})
    assert kept.decode(now.encode()) == now
    assert kept.decode(b'{"cluster": "c", "broker": "b", "generation": 1, "version": 1}').flushed == {}
    newer = json.loads(now.encode()) | {"version": 99}
    with pytest.raises(NewerLog, match="version 99"):
        kept.decode(json.dumps(newer).encode())


def test_the_write_ahead_log_s_entries() -> None:
    """O5: what Holdfast writes into it."""
    prefix = bytearray(entry.encode_prefix(entry.BATCHES, PartitionId(UUID(int=1), 0)))
    prefix[0] = 99
    with pytest.raises(Rejected, match=r"version 99.*upgrade"):
        entry.decode(bytes(prefix))


def test_segments(killed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """O5: the version is in the header and in the footer."""
    data = bytearray(first(killed, "segments/*/*/*.seg").read_bytes())
    footer = segment_format.decode_footer("x", data)
    with monkeypatch.context() as patch:
        patch.setattr(segment_format, "VERSION", 99)
        data[-segment_format.FOOTER_SIZE :] = segment_format.encode_footer(footer)
    with pytest.raises(NewerFormat, match="version 99"):
        verify("x", bytes(data))


@pytest.mark.parametrize(
    ("pattern", "kind"), [("manifests/*/*/0*.json", manifest_json.KIND), ("meta/0*.json", metadata_log.METADATA.kind)]
)
def test_a_broker_refuses_newer_versions_in_its_store(data: Path, pattern: str, kind: str) -> None:
    """O5: manifests and metadata: one sentence, and nothing changes but for epochs of what can be read."""
    for path in (data / "objects").glob(pattern):
        path.write_bytes(newer_envelope(path.read_bytes(), kind))
    before = contents(data)
    code, output = serve("--data", data)
    assert code == 1
    assert "version 99" in output.splitlines()[-1]
    after = contents(data)
    assert {path: after.get(path) for path in before} == before
    assert {path.parent.name for path in after.keys() - before.keys()} == (
        {"meta", "auth"} if "manifests" in pattern else set()
    )


def contents(data: Path) -> dict[Path, bytes]:
    """What is stored, but for claims: every start takes one, before it looks at anything else."""
    found = (path for path in (data / "objects").rglob("*.json") if path.parent.name != "owner")
    return {path: path.read_bytes() for path in found}


def test_the_store_s_cluster(killed: Path, tmp_path: Path) -> None:
    """O5, O1: which cluster a store belongs to."""
    objects = LocalObjects(shutil.copytree(killed / "objects", tmp_path / "objects"))
    assert len(decode_cluster(objects.get(CLUSTER))) == 32
    with pytest.raises(NewerFormat, match="version 99"):
        decode_cluster(b'{"version": 99, "cluster": "x"}')


def test_files_in_quarantine() -> None:
    """O5: tails that no partition could hold."""
    home, owner = PartitionId(UUID(int=1), 0), kept.Identity("c", "b", 1)
    head = quarantine.encode_head(home, (0, 1), "why", [memoryview(b"batch")], owner)
    assert quarantine.read_tail_file("x", head + b"batch")[0]["end"] == 1
    with pytest.raises(NewerFormat, match="version 99"):
        quarantine.read_tail_file("x", newer_envelope(head.rstrip(), quarantine.KIND) + b"\nbatch")


def test_backups(tmp_path: Path) -> None:
    """O5: the note that says that a backup is whole."""
    in_broker(tmp_path / "data", lambda _: asyncio.sleep(0))
    assert run("backup", tmp_path / "data", tmp_path / "copy")[0] == 0
    (tmp_path / "copy" / "backup.json").write_text('{"format": 99, "cluster": "x"}')
    code, output = run("restore", tmp_path / "copy", tmp_path / "new")
    assert code == 1
    assert "version 99" in output
