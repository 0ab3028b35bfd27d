"""K12: a batch that nobody can read, from before anybody looked, is stepped over by who wants to, and told of."""

from __future__ import annotations

import pytest
from tests.record.samples import SAMPLES, rows
from tests.record.test_malformed import BAD
from tests.record.test_validate import said_to_be

from holdfast.record.batch import BatchHeader
from holdfast.record.build import build
from holdfast.record.columnar.decode import Decoder
from holdfast.record.errors import CorruptBatch, InvalidBatch, WrongCrc
from holdfast.record.layout import Codec

BATCHES = {name: bytes(bad[0]) for name, bad in BAD.items()} | {
    f"rubbish called {codec.name}": bytes(said_to_be(codec, b"rubbish" * 9)) for codec in Codec if codec
}


@pytest.mark.parametrize("name", BATCHES)
def test_what_cannot_be_read_is_stepped_over(name: str) -> None:
    """K12: what stands before and behind it is read, in one output and in groups, and each is told of once."""
    told: list[tuple[int, InvalidBatch]] = []

    def skip(header: BatchHeader, violation: InvalidBatch) -> None:
        told.append((header.base_offset, violation))

    before, behind = build(SAMPLES["one"], base_offset=5), build(SAMPLES["headers"], base_offset=9)
    buffers = [bytes(before) + BATCHES[name], BATCHES[name], bytes(behind)]
    expected = rows(Decoder().decode([before, behind]))
    assert rows(Decoder(skip=skip).decode(buffers)) == expected
    assert [offset for offset, _ in told] == [0, 0]
    told.clear()
    groups = list(Decoder(skip=skip).groups(buffers, record_count=1))
    assert [row for group in groups for row in rows(group)] == expected
    assert [offset for offset, _ in told] == [0, 0]
    with pytest.raises(CorruptBatch):
        Decoder().decode(buffers)


def test_what_is_damaged_is_not_stepped_over() -> None:
    """K12, K7: a wrong crc is damage: it may be whole elsewhere, and is never passed in silence."""
    damaged = build(SAMPLES["one"])
    damaged[-1] ^= 1
    with pytest.raises(CorruptBatch) as raised:
        Decoder(skip=lambda header, violation: None).decode([damaged])
    assert isinstance(raised.value.violation, WrongCrc)
