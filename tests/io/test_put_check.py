"""A start asks the store whether it keeps put-if-absent."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import pytest

from holdfast.io.objects.faulty import Call, FailBefore, Fault, FaultyObjects
from holdfast.io.objects.local.objects import LocalObjects
from holdfast.io.objects.memory import MemoryObjects
from holdfast.io.objects.put_check import NAME, NoPutIfAbsent, check_put_if_absent
from holdfast.testing.process import BrokerDidNotStart, RunningBroker
from holdfast.types import Buffer

# Takes every name, as some gateways do that do not know the condition.
CARELESS = """
from holdfast.io.objects.local import objects as local_objects

local_objects.LocalObjects.put_if_absent = local_objects.LocalObjects.put

from holdfast.cli.main import main
main()
"""


class Careless(MemoryObjects):
    """A store that does not know the condition."""

    def put_if_absent(self, name: str, data: Sequence[Buffer]) -> None:
        self.put(name, data)


def test_a_store_that_keeps_it_is_left_as_it_was() -> None:
    """D7: nothing stays of the question."""
    store = MemoryObjects()
    for _ in range(3):
        check_put_if_absent(store)
    assert list(store.list("")) == []


def test_a_store_that_takes_a_name_twice_is_refused() -> None:
    """D7: before anything that matters is put there."""
    store = Careless()
    with pytest.raises(NoPutIfAbsent, match="conditional puts"):
        check_put_if_absent(store)
    assert list(store.list("")) == []


def test_where_deletes_are_denied_one_object_stays() -> None:
    """D7, D4: however often it is asked."""
    inner = MemoryObjects()

    def denied(call: Call) -> Fault | None:
        return FailBefore() if call.kind == "delete" else None

    for _ in range(3):
        check_put_if_absent(FaultyObjects(inner, denied))
    assert [each.name for each in inner.list("")] == [NAME]


def test_a_store_that_does_not_answer_is_not_refused(caplog: pytest.LogCaptureFixture) -> None:
    """D4: it is said that it is not known."""
    caplog.set_level(logging.WARNING)
    check_put_if_absent(FaultyObjects(MemoryObjects(), lambda call: FailBefore()))
    assert "is not known" in caplog.text


def test_a_broker_does_not_start_on_a_store_without_it(tmp_path: Path) -> None:
    """D7: `serve` asks as `doctor` does, and says what it found; on a sound store it leaves nothing behind."""
    with (
        pytest.raises(BrokerDidNotStart, match="no put-if-absent"),
        RunningBroker(tmp_path / "careless", entry=("-c", CARELESS)),
    ):
        pass  # If it does start, it is stopped here.
    with RunningBroker(tmp_path / "sound"):
        names = [each.name for each in LocalObjects(tmp_path / "sound" / "objects").list("doctor/")]
        assert names == []
