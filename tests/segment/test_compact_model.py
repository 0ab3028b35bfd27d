"""Compaction against a plain model: keys, tombstones, transactions, codecs, time and log start in any order."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.segment.partition import RETENTION_MS, Partition

from holdfast.record.marker import MarkerKind
from holdfast.segment.compaction.key_map import SLOT_SIZE
from holdfast.segment.compaction.keys import KeyRules
from holdfast.segment.manifest.changes import RaiseLogStart

KEYS = st.sampled_from([None, b"", b"a", b"b", b"c", b"long key " * 5])
VALUES = st.sampled_from([None, None, b"", b"x", b"y" * 300])
PLAIN = st.tuples(st.just("plain"), st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=6), st.integers(0, 4))
STEPS = st.one_of(
    PLAIN,
    PLAIN,
    st.tuples(st.just("begin"), st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=3), st.integers(5, 6)),
    st.tuples(st.just("end"), st.sampled_from(list(MarkerKind)), st.integers(5, 6)),
    st.tuples(st.just("flush")),
    st.tuples(st.just("compact"), st.floats(0, 1), st.booleans()),
    st.tuples(st.just("time"), st.sampled_from([0.1, 0.7, 1.5])),
    st.tuples(st.just("log_start"), st.floats(0, 0.3)),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(STEPS, min_size=5, max_size=60))
def test_compaction_against_a_plain_model(steps):
    """K6, L2: after every run each record that must stay is there once, at its offset, and none that must go."""
    part = Partition(segment_size_max=600)
    rows: dict[int, tuple[bytes | None, bytes | None]] = {}  # What must be there.
    open_since: dict[int, int] = {}
    owned: dict[int, list[int]] = {5: [], 6: []}
    undecided: dict[int, tuple[bytes | None, bytes | None]] = {}
    stable = 0
    for step in steps:
        match step:
            case ("plain", pairs, codec):
                rows |= {part.next_offset + n: pair for n, pair in enumerate(pairs)}
                part.add(*pairs, codec=codec)
            case ("begin", pairs, producer):
                open_since.setdefault(producer, part.next_offset)
                owned[producer] += range(part.next_offset, part.next_offset + len(pairs))
                undecided |= {part.next_offset + n: pair for n, pair in enumerate(pairs)}
                part.add(*pairs, producer=producer, transactional=True)
            case ("end", kind, producer) if producer in open_since:
                part.end_transaction(producer, open_since.pop(producer), kind, open_since.values())
                for offset in owned[producer]:
                    pair = undecided.pop(offset)
                    if kind == MarkerKind.COMMIT:
                        rows[offset] = pair
                owned[producer] = []
            case ("flush",):
                part.flush(min(open_since.values(), default=None))
                stable = part.log.manifest.last_stable
            case ("time", fraction):
                part.clock.advance(RETENTION_MS / 1000 * fraction)
            case ("log_start", fraction):
                manifest = part.log.manifest
                start = int(manifest.log_start + fraction * (min(stable, manifest.flushed) - manifest.log_start))
                part.log.commit(RaiseLogStart(start))
            case ("compact", fraction, small):
                end = int(fraction * stable)
                before = part.log.manifest
                part.compact(end, KeyRules(RETENTION_MS, 64 * SLOT_SIZE if small else 1 << 20))
                check(part, before, rows, undecided)


def check(part, before, rows, undecided):
    """The stored records are those the rules leave."""
    manifest = part.log.manifest
    clean_end = manifest.cleaned[-1].end if manifest.cleaned else 0
    gone_end = max((each.end for each in manifest.cleaned if each.since_ms == 0), default=0)
    found = {offset: (key, value) for offset, key, value in part.contents() if offset >= manifest.log_start}
    last = {key: offset for offset, (key, _) in sorted(rows.items()) if offset < clean_end}
    for offset, (key, value) in rows.items():
        if not manifest.log_start <= offset < manifest.flushed:
            continue
        superseded = key is not None and offset < clean_end and last[key] > offset
        expired = key is not None and value is None and offset < gone_end
        if not superseded and not expired:
            assert found.get(offset) == (key, value), (offset, key, value)
        else:
            assert offset not in found, (offset, key, value)
    extra = set(found) - set(rows)
    assert all(offset in undecided or offset >= clean_end for offset in extra), "An aborted record is still there."
    assert (manifest.log_start, manifest.flushed) == (before.log_start, before.flushed)
    markers = {header.base_offset for header, _ in part.batches() if header.is_control}
    for each in manifest.segments.aborted(manifest.log_start, manifest.flushed):
        assert each.last_offset in markers, "The index names a transaction whose marker is gone."
