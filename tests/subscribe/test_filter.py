"""Filters on the key as a path: one table of cases, for the code that both sides run."""

from __future__ import annotations

import numpy as np
import pytest
from tests.subscribe.filter_cases import CASES, KEYS

from holdfast.record.columnar.columns import Binary
from holdfast.subscribe.errors import BadFilter
from holdfast.subscribe.filter import Filter


def binary(keys: list[bytes | None]) -> Binary:
    ends = np.cumsum([0, *(len(key or b"") for key in keys)]).astype(np.int32)
    validity = np.packbits([key is not None for key in keys], bitorder="little")
    return Binary(ends, np.frombuffer(b"".join(key or b"" for key in keys), np.uint8), validity)


@pytest.mark.parametrize(("chosen", "expected"), CASES, ids=[str(number) for number in range(len(CASES))])
def test_the_table_of_cases(chosen: Filter, expected: set[bytes | None]) -> None:
    """S6: prefixes, additional prefixes, exact directories, the internal prefix, /foo and /foobar, root."""
    mask = chosen.mask(binary(KEYS))
    assert {key for key, passes in zip(KEYS, mask, strict=True) if passes} == expected


def test_keys_in_a_slice_of_a_column() -> None:
    """S6: ends need not begin at 0."""
    whole = binary([b"/foo", b"/bar", b"/foo/x"])
    part = Binary(whole.ends[1:], whole.data, None)
    assert Filter.of("/foo").mask(part).tolist() == [False, True]


@pytest.mark.parametrize(
    "wrong",
    [
        {"paths": ("foo",)},
        {"paths": ("/a//b",)},
        {"plain": ("",)},
        {"paths": ("/.system/log/x",)},
        {"directories": ("",)},
    ],
)
def test_filters_that_cannot_be_meant(wrong: dict[str, tuple[str, ...]]) -> None:
    """S6: what could never match, or means everything by accident, is refused with a reason."""
    with pytest.raises(BadFilter):
        Filter(**wrong)
