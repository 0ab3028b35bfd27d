"""`holdfast demo` does what it says, and says so when something is not as claimed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path

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


def test_without_java_it_says_so_and_is_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    code, verdicts, _ = outcome([STEP["archive"], STEP["audit"]], tmp_path, capsys)
    assert (code, set(verdicts.values())) == (1, {"not done"})
    assert "a JDK, on which Spark runs, is missing" in (tmp_path / "report.html").read_text()


def test_an_interrupted_demo_leaves_nothing_behind(tmp_path: Path) -> None:
    options = ["--quick", "--dir", str(tmp_path), "--report", str(tmp_path / "report.html")]
    with subprocess.Popen([COMMAND, "demo", *options], stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        for line in child.stderr:
            if "killed the broker" in line:  # It is about to start it again.
                child.send_signal(signal.SIGINT)
                break
        said = child.stderr.read()
    assert child.returncode == 130, said
    assert "interrupted" in said
    assert list(tmp_path.iterdir()) == []
    assert processes_of(tmp_path) == []
