"""One store, one verdict: whoever reads it or judges it says the same of what is damaged, lost, or too new."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.spark.askers import ASKERS, FAULTS, ON_SPARK, Answer, Asker, Fault, Tools, fill, words_of

HARMLESS = ("sound:", "nothing is wrong")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound data directory, not to be changed."""
    data = tmp_path_factory.mktemp("askers") / "data"
    fill(data)
    return data


@pytest.fixture
def data(written: Path, tmp_path: Path) -> Path:
    """A copy of it, for one test."""
    return Path(shutil.copytree(written, tmp_path / "data"))


@pytest.fixture
def tools(request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture, tmp_path: Path) -> Tools:
    return Tools(lambda: caplog.text, lambda: request.getfixturevalue("spark"), tmp_path)


def check(asker: Asker, fault: Fault, data: Path, tools: Tools) -> Answer:
    words = words_of(data, fault)
    name = fault.hurt(data)
    answer = asker(data, fault, tools)
    assert answer.code != 0, answer.said
    assert words in answer.said
    assert name in answer.said or not answer.has_name
    return answer


class TestEveryAskerAgrees:
    """Damaged, lost and newer are told apart, with the object's name, in the same words, and never as a success."""

    @pytest.mark.parametrize("asker", ASKERS.values(), ids=ASKERS)
    def test_nobody_finds_fault_with_a_sound_store(self, asker: Asker, data: Path, tools: Tools) -> None:
        """O2, P4: what is sound is no verdict."""
        answer = asker(data, Fault(lambda _: "", ""), tools)
        assert answer.code == 0, answer.said
        assert "damaged" not in answer.said

    @pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
    @pytest.mark.parametrize("asker", ASKERS.values(), ids=ASKERS)
    def test_all_say_the_same(self, asker: Asker, fault: Fault, data: Path, tools: Tools) -> None:
        """O2, O5, S7, D8, P4: nobody passes over it, and nobody has other words for it."""
        answer = check(asker, fault, data, tools)
        assert "Traceback" not in answer.said
        assert not any(line.startswith(HARMLESS) for line in answer.said.splitlines())

    @pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
    @pytest.mark.parametrize("asker", ON_SPARK.values(), ids=ON_SPARK)
    def test_all_say_the_same_on_spark(self, asker: Asker, fault: Fault, data: Path, tools: Tools) -> None:
        """P1, P4: a session on executors has the words of the driver."""
        check(asker, fault, data, tools)
