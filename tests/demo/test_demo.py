"""`holdfast demo` does what it says, and says so when something is not as claimed."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient
from tests.support.broker_process import COMMAND
from tests.support.spark_session import no_spark

from holdfast.cli.demo.command import carry_out
from holdfast.demo.events import TOPIC
from holdfast.demo.outcome import DemoClaim, Outcome
from holdfast.demo.plan import STEPS, Step
from holdfast.demo.stage import DemoWanted, Stage
from holdfast.demo.steps.producing import Producing
from holdfast.spark.session.small import SMALL_SIZE_MAX

STEP = {each.name: each for each in STEPS}
EVENTS = 4_000
needs_spark = pytest.mark.skipif(no_spark() is not None, reason=f"needs Spark: {no_spark()}")


def processes_of(folder: Path) -> list[str]:
    """The command lines of processes that work in a folder."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = each.read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue  # It has just ended.
        if str(folder) in line and str(os.getpid()) != each.parent.name:
            found.append(line)
    return found


@needs_spark
def test_the_quick_demo_is_as_claimed_and_leaves_only_its_report(tmp_path: Path) -> None:
    """A8: a real client, a real kill, and every acknowledged event there afterwards, by every way of reading."""
    work, report = tmp_path / "work", tmp_path / "report.html"
    work.mkdir()
    options = ["--events", str(EVENTS), "--json", "--dir", str(work), "--report", str(report)]
    done = subprocess.run([COMMAND, "demo", *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads(done.stdout)
    assert [each["step"] for each in said["steps"]] == [each.name for each in STEPS]
    assert said["as_claimed"]
    assert all(each["claims"] for each in said["steps"])
    assert "killed the broker with SIGKILL" in done.stderr
    assert "\x1b[" not in done.stderr
    page = report.read_text()
    assert page.count("<svg") == 2
    assert "Everything is as claimed." in page
    assert not re.search(r"(src|href)=", page), "the page needs something else"
    assert str(report) in done.stderr
    assert list(work.iterdir()) == []
    assert processes_of(work) == []


def delete_records(stage: Stage) -> Outcome:
    """The first event of a partition that has one goes."""
    where = int(stage.ledger.partitions[0])
    admin = AdminClient({"bootstrap.servers": stage.broker().bootstrap})
    for done in admin.delete_records([Place(TOPIC, where, 1)]).values():
        done.result(30)
    return Outcome((DemoClaim("a record is deleted", holds=True, found="1"),))


def write_again(broker: str = "first") -> Step:
    """The first event is written once more, to one of the brokers."""

    def run(stage: Stage) -> Outcome:
        key, value = next(stage.events.of(0, 1))
        producer = Producer({"bootstrap.servers": stage.broker(broker).bootstrap})
        producer.produce(TOPIC, value=value, key=key, partition=int(stage.ledger.partitions[0]))
        assert producer.flush(30) == 0
        return Outcome((DemoClaim("it is there twice", holds=True, found="1"),))

    return Step("write again", "an event is written twice", run)


def remove_segment(stage: Stage) -> Outcome:
    """A sealed segment goes, as if the disk had lost it."""
    segments = sorted((stage.broker().data / "objects" / "segments").rglob("*.seg"))
    segments[0].unlink()
    return Outcome((DemoClaim("a segment is removed", holds=True, found="1"),))


def outcome(steps: list[Step], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, str], str]:
    """The exit code, the verdict by step, and everything that was claimed and found."""
    code = carry_out(DemoWanted(EVENTS, tmp_path), steps, tmp_path / "report.html", as_json=True)
    said = json.loads(capsys.readouterr().out)
    found = "; ".join(claim["found"] for each in said["steps"] for claim in each["claims"])
    assert "Not everything is as claimed." in (tmp_path / "report.html").read_text()
    return code, {each["step"]: each["verdict"] for each in said["steps"]}, found


def test_a_lost_record_is_told_and_what_comes_after_it_is_not_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [STEP["produce"], Step("delete", "a record is deleted", delete_records), STEP["read back"], STEP["restart"]]
    code, verdicts, found = outcome(steps, tmp_path, capsys)
    assert code == 1
    assert (verdicts["read back"], verdicts["restart"]) == ("NOT AS CLAIMED", "not done")
    assert "1 missing" in found


def test_a_record_too_many_in_either_broker_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    produce = STEP["produce"]
    code, verdicts, found = outcome([produce, write_again(), STEP["read back"]], tmp_path, capsys)
    assert (code, verdicts["read back"]) == (1, "NOT AS CLAIMED")
    assert "1 twice" in found
    code, verdicts, found = outcome([produce, write_again("second"), STEP["sync"]], tmp_path, capsys)
    assert (code, verdicts["sync"]) == (1, "NOT AS CLAIMED")
    assert "1 twice" in found


@needs_spark
def test_a_removed_segment_is_told_by_the_audit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """P4: the audit names what is missing, and the demo ends with 1."""
    remove = Step("remove", "a segment is removed", remove_segment)
    code, verdicts, found = outcome([STEP["produce"], STEP["restart"], remove, STEP["audit"]], tmp_path, capsys)
    assert (code, verdicts["audit"]) == (1, "NOT AS CLAIMED")
    assert re.search(r"[1-9]\d* missing", found)


class InterruptedAtAck(Producing):
    """The signal comes while a delivery report is being told."""

    def _told(self, error: Any, message: Any) -> None:
        super()._told(error, message)
        if self.acked == 1:
            signal.raise_signal(signal.SIGINT)


def test_an_interrupt_inside_a_call_of_a_client_is_not_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """librdkafka's client loses Python's own KeyboardInterrupt in its callbacks, and fails with something else."""

    def interrupted(stage: Stage) -> Outcome:
        InterruptedAtAck(stage, 0, stage.backlog).run()
        return Outcome((DemoClaim("it went on", holds=True, found="1"),))

    step = Step("produce", "interrupted on the way", interrupted)
    assert carry_out(DemoWanted(EVENTS, tmp_path), [step], tmp_path / "report.html") == 130
    assert "interrupted" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_subscription_ends(tmp_path: Path) -> None:
    """On a loop, too, where the task is cancelled."""

    async def interrupted() -> None:
        signal.raise_signal(signal.SIGTERM)
        await asyncio.Event().wait()

    step = Step("subscribe", "interrupted on the way", lambda stage: stage.interrupt.run(interrupted()))  # type: ignore[arg-type, return-value]
    assert carry_out(DemoWanted(EVENTS, tmp_path), [step], tmp_path / "report.html") == 130


def test_without_java_it_says_so_and_is_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there is so much that Spark is needed."""

    def much(stage: Stage) -> Outcome:
        with (stage.broker().data / "objects" / "much").open("wb") as file:
            file.truncate(SMALL_SIZE_MAX + 1)  # A hole: it takes no room.
        return Outcome((DemoClaim("there is much", holds=True, found="1"),))

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    code, verdicts, _ = outcome([Step("much", "there is much", much), STEP["archive"], STEP["audit"]], tmp_path, capsys)
    assert code == 1
    assert verdicts == {"much": "as claimed", "archive": "not done", "audit": "not done"}
    assert "a JDK, on which Spark runs, is missing" in (tmp_path / "report.html").read_text()


MOMENTS = {
    "it writes": "produce: ",
    "the broker starts again": "killed the broker",
    "it writes on": "started it again",
    "it reads": "read back: ",
    "the broker stops": "restart: ",
}


@pytest.mark.parametrize("line", MOMENTS.values(), ids=MOMENTS.keys())
def test_an_interrupted_demo_leaves_nothing_behind(tmp_path: Path, line: str) -> None:
    """Whenever the interrupt comes."""
    options = ["--events", str(EVENTS), "--dir", str(tmp_path), "--report", str(tmp_path / "report.html")]
    with subprocess.Popen([COMMAND, "demo", *options], stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        for each in child.stderr:
            if line in each:
                child.send_signal(signal.SIGINT)
                break
        said = child.stderr.read()
    assert child.returncode == 130, said
    assert "interrupted" in said
    assert list(tmp_path.iterdir()) == []
    assert processes_of(tmp_path) == []
