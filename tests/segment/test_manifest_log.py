"""The versions of a manifest in the store: how many requests they take, and what damage is found."""

from __future__ import annotations

import pytest

from holdfast.errors import Corrupt, Rejected
from holdfast.io.versions import FULL_EVERY, Versions
from holdfast.segment.errors import (
    NewerFormat,
    NoManifest,
    WrongCluster,
)
from holdfast.segment.manifest.changes import Append
from holdfast.segment.manifest.codec import FORMAT, encode
from holdfast.segment.manifest.load import load_manifest


def test_what_is_committed_is_there_when_opened_again(open_log, append, store, home):
    """L2: the newest version holds everything, also across full lists."""
    log = open_log()
    for number in range(FULL_EVERY + 5):
        log.commit(append(number, number + 1))
    again = open_log("another")
    assert again.manifest == log.manifest == load_manifest(store, home)
    assert again.manifest.version == FULL_EVERY + 5
    assert len(again.manifest.segments) == FULL_EVERY + 5


def test_opening_takes_at_most_five_requests(open_log, append, store, make_info, clock, home):
    """L2: 10,000 segments, 10,000 versions, listed in pages of 1,000 as S3 does."""
    log = open_log()
    while log.manifest.version < 9_950:
        log.commit(Append((), 0, {}, clock.monotonic()))
    log.commit(Append(tuple(make_info(base, base + 1) for base in range(9_950)), 9_950, {}, clock.monotonic()))
    while log.manifest.version < 10_000:
        log.commit(append(log.manifest.flushed, log.manifest.flushed + 1))
    log.commit(append(log.manifest.flushed, log.manifest.flushed + 50))
    store.requests.clear()
    manifest = load_manifest(store, home)
    assert manifest == log.manifest
    assert len(manifest.segments) == 10_000
    assert len(store.requests) == 4
    store.requests.clear()
    open_log("another").commit(append(log.manifest.flushed, log.manifest.flushed + 1))
    assert len(store.requests) == 6  # The last one looks at the version below the one that was put.
    store.requests.clear()
    log.refresh()
    assert [method for method, _ in store.requests] == ["list", "get"]


@pytest.mark.parametrize(
    "hint", [b'{"newest_full": 64}', b'{"newest_full": 9999}', b"nonsense", b'{"newest_full": "x"}']
)
def test_a_wrong_hint_costs_requests_and_nothing_else(open_log, append, store, home, hint):
    """L2: stale, too new, or no hint at all: the newest version is found."""
    log = open_log()
    for number in range(3 * FULL_EVERY):
        log.commit(append(number, number + 1))
    store.put(home.manifests + "newest.json", [hint])
    assert load_manifest(store, home) == log.manifest
    store.delete(home.manifests + "newest.json")
    assert load_manifest(store, home) == log.manifest


def test_a_commit_writes_what_changed_not_all_segments(open_log, append, store, make_info, clock):
    """L2: with 5,000 segments a commit is some kilobytes, a full list comes once in 64."""
    log = open_log()
    log.commit(Append(tuple(make_info(base, base + 1) for base in range(5_000)), 5_000, {}, clock.monotonic()))
    sizes = []
    while len(sizes) < 2 * FULL_EVERY:
        log.commit(append(log.manifest.flushed, log.manifest.flushed + 1))
        sizes.append(store.inner.size(Versions(store, log.manifest.home.manifests).name(log.manifest.version)))
    assert sum(size > 100_000 for size in sizes[FULL_EVERY:]) == 1
    assert sorted(sizes)[FULL_EVERY - 10] < 20_000


def test_a_partition_without_a_manifest_is_not_made_up(open_log, store, home):
    """K6: reading a deleted partition is an error, and makes nothing."""
    with pytest.raises(NoManifest):
        load_manifest(store, home)
    with pytest.raises(NoManifest):
        open_log(first_epoch=None)
    assert list(store.list("")) == []


def test_another_clusters_store_is_refused(open_log):
    """O1: one clear sentence."""
    open_log()
    with pytest.raises(WrongCluster, match="belongs to cluster c1, not to c2"):
        open_log(cluster_id="c2")


def test_every_flipped_bit_of_a_manifest_is_found(open_log, append, store, home):
    """L2: full lists and changes alike."""
    log = open_log()
    log.commit(append(0, 10))
    versions = Versions(store, home.manifests)
    for number in (0, 1):
        data = store.get(versions.name(number))
        for position in range(len(data)):
            damaged = bytearray(data)
            damaged[position] ^= 1 << position % 8
            store.put(versions.name(number), [damaged])
            with pytest.raises((Corrupt, Rejected)):
                load_manifest(store, home)
        store.put(versions.name(number), [data])
    assert load_manifest(store, home) == log.manifest


def test_a_newer_manifest_format_is_refused(open_log, store, home, monkeypatch):
    """O5: a later release wrote it; this one says so."""
    log = open_log()
    monkeypatch.setattr("holdfast.segment.manifest.codec.FORMAT", FORMAT + 1)
    data = encode(log.manifest, [])
    monkeypatch.undo()
    store.put(Versions(store, home.manifests).name(0), [data])
    with pytest.raises(NewerFormat):
        load_manifest(store, home)
