"""Tables for people: nothing is cut, however long it is."""

from __future__ import annotations

import pytest

from holdfast.cli.terminal.table import give_table


def test_a_long_cell_takes_no_room_from_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    facts = [{"name": "one", "said": "x" * 500, "count": 7}, {"name": "twö", "said": "", "count": 1234}]
    give_table(facts, {"name": "name", "said": "said", "count": "count"}, as_json=False)
    title, first, second = capsys.readouterr().out.splitlines()
    assert title.split() == ["name", "said", "count"]
    assert first.split() == ["one", "x" * 500, "7"]
    assert second.split() == ["twö", "1234"]
