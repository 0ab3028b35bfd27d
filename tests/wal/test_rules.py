"""The rules of each record, and what all records together say."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.wal.logs import append, held, kinds, new_disk, open_log, reopened

from holdfast.errors import Rejected
from holdfast.wal import (
    CommitAboveLast,
    CommitBackwards,
    LogId,
    LogIdBackwards,
    LogIdUnknown,
    NotConsecutive,
    ReadBelowPurged,
    TruncateAboveLast,
    TruncateBelowPurged,
    Vote,
    VoteBackwards,
    Wal,
    WalState,
)


def prepared() -> Wal:
    """Entries 0 to 9, of epochs 2 and 4, purged up to 2, committed up to 5, voted."""
    wal = open_log(new_disk())
    append(wal, 6, epoch=2)
    append(wal, 4, epoch=4)
    wal.purge(LogId(2, 2))
    wal.commit(LogId(2, 5))
    wal.save_vote(Vote(4, 7))
    return wal


VIOLATIONS: dict[str, tuple[Callable[[Wal], object], type[Rejected], object, object]] = {
    "append behind a gap": (lambda w: w.append(LogId(4, 11), [b""]), NotConsecutive, 10, 11),
    "append over an entry": (lambda w: w.append(LogId(4, 9), [b""]), NotConsecutive, 10, 9),
    "append below zero": (lambda w: w.append(LogId(4, -1), [b""]), NotConsecutive, 10, -1),
    "append in a lower epoch": (lambda w: w.append(LogId(3, 10), [b""]), LogIdBackwards, LogId(4, 9), LogId(3, 10)),
    "truncate below the purge point": (lambda w: w.truncate(2), TruncateBelowPurged, LogId(2, 2), 2),
    "truncate above the end": (lambda w: w.truncate(11), TruncateAboveLast, LogId(4, 9), 11),
    "purge another epoch's entry": (lambda w: w.purge(LogId(3, 5)), LogIdUnknown, LogId(2, 5), LogId(3, 5)),
    "purge beyond, in a lower epoch": (lambda w: w.purge(LogId(3, 20)), LogIdBackwards, LogId(4, 9), LogId(3, 20)),
    "commit above the end": (lambda w: w.commit(LogId(4, 10)), CommitAboveLast, LogId(4, 9), LogId(4, 10)),
    "commit backwards": (lambda w: w.commit(LogId(2, 4)), CommitBackwards, LogId(2, 5), LogId(2, 4)),
    "commit another epoch's entry": (lambda w: w.commit(LogId(2, 8)), LogIdUnknown, LogId(4, 8), LogId(2, 8)),
    "vote in a lower epoch": (lambda w: w.save_vote(Vote(3, 9)), VoteBackwards, Vote(4, 7), Vote(3, 9)),
    "vote for a lower node": (lambda w: w.save_vote(Vote(4, 6)), VoteBackwards, Vote(4, 7), Vote(4, 6)),
    "read below the purge point": (lambda w: w.read(2, 9), ReadBelowPurged, LogId(2, 2), 2),
}


@pytest.mark.parametrize("name", VIOLATIONS)
def test_a_violated_rule_is_its_own_error_with_both_values(name: str) -> None:
    """W3: the current value and the attempted one are fields and in the message; the log is as it was.
    The test of W3."""
    call, error, current, attempted = VIOLATIONS[name]
    wal = prepared()
    before, end = wal.state, wal.stat().end
    with pytest.raises(error) as refused:
        call(wal)
    assert type(refused.value) is error
    assert (refused.value.current, refused.value.attempted) == (current, attempted)  # type: ignore[attr-defined]
    assert str(current) in str(refused.value)
    assert str(attempted) in str(refused.value)
    assert (wal.state, wal.stat().end) == (before, end)


def test_what_the_rules_allow() -> None:
    """W3: the same vote again, a higher epoch at once, commit again, purge below the purge point as a no-op."""
    wal = prepared()
    wal.save_vote(Vote(4, 7))
    wal.save_vote(Vote(5, 1))
    wal.append(LogId(9, 10), [b""])
    wal.commit(LogId(2, 5))
    wal.truncate(11)
    before, end = wal.state, wal.stat().end
    wal.purge(LogId(2, 2))
    wal.purge(LogId(1, 0))
    assert (wal.state, wal.stat().end) == (before, end)


def test_the_six_kinds_are_replayed_in_order_into_the_state() -> None:
    """W2: vote, entries, truncation, purge, commit, user data; after a kill the state and the entries are the same.
    The test of W2."""
    disk = new_disk()
    wal = open_log(disk)
    wal.save_vote(Vote(3, 1))
    entries = append(wal, 6, epoch=3)
    wal.truncate(4)
    entries = entries[:4] + append(wal, 2, epoch=5)
    wal.commit(LogId(5, 4))
    wal.purge(LogId(3, 1))
    wal.save_user_data(b"mine")
    wal.flush()
    expected = WalState(Vote(3, 1), LogId(5, 5), LogId(5, 4), LogId(3, 1), b"mine")
    assert wal.state == expected
    assert held(wal) == entries[2:]
    assert set(kinds(disk)) == {"head", "vote", "append", "truncate", "commit", "purge", "state"}
    wal = reopened(disk)
    assert wal.state == expected
    assert held(wal) == entries[2:]


def test_the_whole_state_survives_the_chunks_it_was_said_in() -> None:
    """W2, W5: when all older chunks are gone, the head of the oldest one left says it all."""
    disk = new_disk()
    wal = open_log(disk, chunk_entries_max=5)
    wal.save_vote(Vote(3, 1))
    wal.save_user_data(b"mine")
    append(wal, 18, epoch=3)
    wal.commit(LogId(3, 9))
    wal.purge(LogId(3, 14))
    wal.flush()
    wal.close()
    wal = open_log(disk)
    assert wal.state == WalState(Vote(3, 1), LogId(3, 17), LogId(3, 9), LogId(3, 14), b"mine")
    assert "vote" not in kinds(disk)


def test_user_data_is_replaced_whole() -> None:
    """W2, W9: the last one counts, an empty one too."""
    disk = new_disk()
    wal = open_log(disk)
    for data in (b"first", b"", b"second"):
        wal.save_user_data(data)
        assert wal.state.user_data == data
    wal.flush()
    assert reopened(disk).state.user_data == b"second"


def test_log_ids_are_ordered_by_epoch_then_index() -> None:
    """W2: and say what they are."""
    assert LogId(1, 9) < LogId(2, 0) < LogId(2, 1)
    assert (str(LogId(2, 1)), str(Vote(2, 1))) == ("2:1", "2/1")


def test_the_log_id_of_an_index() -> None:
    """W9: of a live entry or of the purge point; else none."""
    wal = prepared()
    found = [wal.log_id(index) for index in (1, 2, 3, 5, 6, 9, 10, -1)]
    assert found == [None, LogId(2, 2), LogId(2, 3), LogId(2, 5), LogId(4, 6), LogId(4, 9), None, None]
