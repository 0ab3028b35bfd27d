"""Compaction of one partition: the last record of each key stays.

    1. learn      read the keys between what is clean already and `end`; remember the last offset of each, until the
                  memory for keys is full
    2. rewrite    go through all segments from log start to there; what `sieve` lets through goes into new segments,
                  with its own offsets; a segment that loses nothing and is large enough stays
    3. swap       one change after the other, to be committed in order; the last one says how far the partition is clean

Memory: `key_memory_size_max`, one piece of 8 MiB with its records decoded, and one new segment. Stopping at any moment
loses nothing: what is committed is right, what is not is collected, and the next run starts again.

A tombstone stays until `tombstone_retention_ms` after the run that left it the only record of its key, so that a reader
who was slower than the run still sees it. When that was is kept in the manifest, by offset (`Cleaned`), not in batches:
they stay as sent. Transaction markers stay as long as tombstones; an aborted transaction leaves the index of its
segment together with its marker, never before, because readers need the marker to end what the index begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.segment.aborted import AbortedIndex
from holdfast.segment.compaction.key_map import KeyMap
from holdfast.segment.compaction.record_filter import Sieve, learn_piece
from holdfast.segment.compaction.rewrite import Rewrite, RewriteContext
from holdfast.segment.format import HEADER_SIZE
from holdfast.segment.manifest.changes import Replace
from holdfast.segment.manifest.info import SegmentInfo
from holdfast.segment.manifest.manifest import Cleaned, Manifest
from holdfast.segment.scan import open_segment, pieces
from holdfast.types import Offset

_WINDOWS = 64  # Times at which ranges became clean are told apart no finer than this part of the retention.
_GONE = 0  # A range whose tombstones are gone is clean since ever.


@dataclass(frozen=True)
class KeyRules:
    """How keyed compaction works for a topic."""

    tombstone_retention_ms: int = 24 * 60 * 60 * 1000
    key_memory_size_max: int = 128 * 1024 * 1024  # 24 bytes a slot: room for about four million keys.
    lag_ms_min: int = 0  # A record is not compacted before it is so old.


def dirty_ratio(manifest: Manifest, end: Offset) -> float:
    """Which part of the bytes below `end` may hold more than one record per key."""
    segments = manifest.segments.between(manifest.log_start, min(end, manifest.last_stable))
    total = sum(each.size for each in segments)
    dirty = sum(each.size for each in segments if each.end > clean_end_of(manifest))
    return dirty / total if total else 0.0


def compactable_end(manifest: Manifest, now_ms: int, rules: KeyRules) -> Offset:
    """Before this offset no record is younger than the topic lets compaction touch."""
    if rules.lag_ms_min > 0:
        for each in manifest.segments.between(Offset(clean_end_of(manifest)), manifest.flushed):
            if each.max_timestamp > now_ms - rules.lag_ms_min:
                return each.base
    return manifest.flushed


def has_ripe_tombstones(manifest: Manifest, now_ms: int, rules: KeyRules) -> bool:
    """Whether a run would find a range whose tombstones may go now, though nothing in it is dirty."""
    return any(_GONE < each.since_ms <= now_ms - rules.tombstone_retention_ms for each in manifest.cleaned)


def compact_keys(
    shop: RewriteContext, manifest: Manifest, end: Offset, now_ms: int, rules: KeyRules, since_ms: int | None = None
) -> Iterator[Replace]:
    """Compact a partition below `end`, which is never above the last stable offset: the changes to commit, in order.

    `end` keeps away from what is too young to be compacted. If memory for keys ends it, the next run goes on there.
    What becomes clean is so since `since_ms`, if that is not `now_ms`.
    """
    limit = min(end, manifest.last_stable, manifest.flushed)
    start = clean_end_of(manifest)
    tombstone_end = _tombstone_end(manifest.cleaned, now_ms, rules)
    if limit <= start and not has_ripe_tombstones(manifest, now_ms, rules):
        return
    aborted = AbortedIndex(manifest.segments.aborted(manifest.log_start, max(limit, tombstone_end)))
    key_map, learned = _learn(shop, manifest, aborted, start, limit, rules)
    clean_end = max(start, learned)
    run = manifest.segments.between(manifest.log_start, max(learned, tombstone_end))
    sieve = Sieve(key_map, aborted, manifest.log_start, clean_end, tombstone_end, shop.on_unreadable)
    since_ms = now_ms if since_ms is None else since_ms
    cleaned = _cleaned(manifest.cleaned, clean_end if learned > start else 0, now_ms, since_ms, rules)
    if run:
        yield from _rewrite(shop, run, sieve, cleaned)
    else:  # All that was ripe lies below log start by now: only that is to be remembered.
        yield Replace((), (), shop.clock.monotonic(), cleaned)


def _learn(
    shop: RewriteContext, manifest: Manifest, aborted: AbortedIndex, start: int, limit: int, rules: KeyRules
) -> tuple[KeyMap, int]:
    """The keys of `[start, limit)`, and how far they could be learned."""
    dirty = manifest.segments.between(start, limit)
    key_map = KeyMap(rules.key_memory_size_max, sum(each.record_count for each in dirty), shop.chance)
    for info in dirty:
        for piece in pieces(shop.objects, open_segment(shop.objects, info)):
            full_at = learn_piece(key_map, aborted, piece, start, limit)
            if full_at is not None:
                return key_map, full_at
    return key_map, limit


def _rewrite(
    shop: RewriteContext, run: tuple[SegmentInfo, ...], sieve: Sieve, cleaned: tuple[Cleaned, ...]
) -> Iterator[Replace]:
    rewrite = Rewrite(shop, run[0].base, compacted=True)
    for info in run:
        segment = open_segment(shop.objects, info)
        aborted = [each for each in info.aborted if each.last_offset >= max(sieve.tombstone_end, sieve.log_start)]
        rewrite.begin_segment(info, aborted, segment.producers())
        unchanged = 0
        for piece in pieces(shop.objects, segment):
            for buffer, base in sieve.sift(piece):
                unchanged += len(buffer) if isinstance(buffer, memoryview) else 0
                rewrite.add(bytes(buffer), base)  # A copy: a view would hold all of its piece.
        is_last = info is run[-1]
        if not rewrite.is_worth_it and not is_last:
            continue
        if rewrite.is_one_for_one and unchanged == info.size - info.tail_size - HEADER_SIZE:
            rewrite = Rewrite(shop, info.end, compacted=True)  # It loses nothing: it stays.
            if is_last:
                yield Replace((), (), shop.clock.monotonic(), cleaned)
        else:
            yield rewrite.finish(info.end, cleaned if is_last else None)
            rewrite = Rewrite(shop, info.end, compacted=True)


def clean_end_of(manifest: Manifest) -> int:
    """Below this offset each key has one record."""
    return max(manifest.log_start, manifest.cleaned[-1].end if manifest.cleaned else 0)


def _tombstone_end(cleaned: tuple[Cleaned, ...], now_ms: int, rules: KeyRules) -> int:
    """Below this offset tombstones have been alone for long enough."""
    return max((each.end for each in cleaned if each.since_ms <= now_ms - rules.tombstone_retention_ms), default=0)


def _cleaned(
    cleaned: tuple[Cleaned, ...], clean_end: int, now_ms: int, since_ms: int, rules: KeyRules
) -> tuple[Cleaned, ...]:
    """Since when each range is clean, after this run; `clean_end` is 0 if it cleaned nothing new.

    Times are rounded up to a window, so that the list stays short however often compaction runs.
    """
    gone = _tombstone_end(cleaned, now_ms, rules)
    made = [Cleaned(Offset(gone), _GONE)] if gone else []
    made += [each for each in cleaned if each.end > gone]
    if clean_end:
        window = max(1, rules.tombstone_retention_ms // _WINDOWS)
        since_ms = -(-since_ms // window) * window
        made = [each for each in made if each.since_ms != since_ms]
        made.append(Cleaned(Offset(clean_end), since_ms))
    return tuple(made)
