"""The demo's own judge: a history that breaks a rule is told from one that keeps it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from holdfast.demo.account import Account, FoundRecords
from holdfast.demo.events import Events
from holdfast.demo.ledger import Ledger
from holdfast.errors import Corrupt

COUNT = 3_000  # Every key has some.


def ledger() -> Ledger:
    """All acknowledged: the key decides the partition, and the number is the offset."""
    noted = Ledger(Events(COUNT))
    noted.note(noted.events.values, (noted.events.customers % 4).tolist(), list(range(COUNT)))
    return noted


def read(numbers: list[int], *, shift: int = 0, value: bytes | None = None, offsets_kept: bool = True) -> FoundRecords:
    """What is said of a reader that got these events, `shift` offsets from their places."""
    noted = ledger()
    account = Account(noted, offsets_kept=offsets_kept)
    values = noted.events.values.take(pa.array(numbers))
    if value is not None:
        values = pa.array([value, *values.to_pylist()[1:]], pa.binary())
    half = len(numbers) // 2
    chosen = np.array(numbers)
    for part in (slice(0, half), slice(half, None)):
        account.add(values[part], noted.partitions[chosen][part], noted.offsets[chosen][part] + shift)
    return account.settle()


ALL = list(range(COUNT))


def test_what_is_right_is_found_right() -> None:
    found = read(ALL)
    assert found.holds
    assert found == FoundRecords(wanted=COUNT, read=COUNT, missing=0, twice=0, strange=0, moved=0, disordered=0)
    assert found.claim("all there").found == "3,000 of 3,000"


@pytest.mark.parametrize(
    ("found", "broken"),
    [
        (read(ALL[1:]), "missing"),
        (read([*ALL, 7]), "twice"),
        (read(ALL, value=b"never written"), "strange"),
        (read(ALL, shift=1), "moved"),
        (read(ALL[::-1]), "disordered"),
    ],
    ids=["missing", "twice", "strange", "moved", "disordered"],
)
def test_each_broken_rule_is_found(found: FoundRecords, broken: str) -> None:
    assert not found.holds
    assert getattr(found, broken) > 0
    assert broken in found.claim("all there").found


def test_a_copy_may_be_at_other_offsets_but_nothing_else() -> None:
    assert read(ALL, shift=1, offsets_kept=False).holds
    assert not read(ALL[1:], shift=1, offsets_kept=False).holds


def test_nothing_read_is_everything_missing() -> None:
    found = Account(ledger()).settle()
    assert (found.holds, found.missing) == (False, COUNT)


def test_an_event_that_is_acknowledged_twice_is_refused() -> None:
    noted = ledger()
    with pytest.raises(Corrupt):
        noted.note(noted.events.values[:1], [0], [9])
