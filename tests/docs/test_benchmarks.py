"""The page of benchmarks is made from the stored results alone, and leaves out nothing in which we lose."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.page import headline, page
from benchmarks.quiet import look, wait_until_quiet
from benchmarks.ratios import all_ratios
from benchmarks.run import QUICK, command
from benchmarks.stored import NAMES, read_results

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
RUN = {
    "date": "2026-01-01 00:00 UTC",
    "scale": {"rounds": 1, "quick": True},
    "machine": {"cores": "2"},
    "versions": {"holdfast": "0.1.0"},
    "load": [0.1, 0.2],
    "busy_percent": [40.0, 50.0],
    "notes": ["the peer was tired"],
}
TABLES = """\
# The broker beside Apache Kafka

- date: 2026-01-01 00:00 UTC

Every broker is started afresh.

The peer was tired.

## Rates

| records/s | holdfast | kafka | ÷ kafka |
| --- | ---: | ---: | ---: |
| librdkafka produce 1024 B, large batches | 200 | 100 | 2.00 (1.90 to 2.10) |
| librdkafka consume 1024 B | 50 | 100 | 0.50 (0.40 to 0.60) |

## What it costs the broker

| median | holdfast: CPU ms/MB | ÷ kafka |
| --- | ---: | ---: |
| librdkafka produce 1024 B, large batches | 1.95 | 0.19 (0.19 to 0.19) |
| librdkafka consume 1024 B | 9.95 | 3.00 (3.00 to 3.00) |
"""


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder with one stored run."""
    (tmp_path / "broker.json").write_text(json.dumps(RUN | {"measurements": [{"much": 1}]}))
    (tmp_path / "broker.md").write_text(TABLES)
    (tmp_path / "broker.remarks.md").write_text("- Consumers wait.\n")
    (tmp_path / "broker.png").write_bytes(b"")
    return tmp_path


def test_the_page_and_the_readme_are_up_to_date() -> None:
    tool = ROOT / "docs" / "tools" / "bench_page.py"
    done = subprocess.run([sys.executable, tool, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_page_has_everything_that_is_stored(results: Path) -> None:
    made = page(read_results(results), "plots")
    assert "| produce 1 KiB, librdkafka, records/s | kafka | 2.00 (1.90 to 2.10) | broker |" in made
    assert "- Consumers wait." in made
    assert "![ratios](plots/broker.png)" in made
    assert "Every broker is started afresh." in made
    assert made.count("The peer was tired.") == 1
    assert "No results are stored of: wal, log, operate, scale, spark, subscribe, sync, cluster, first." in made
    assert made == page(read_results(results), "plots")


def test_what_is_lost_is_listed_also_where_less_is_better(results: Path) -> None:
    lost = [(each.what, each.median) for each in all_ratios(read_results(results)[0]) if each.is_lost]
    assert lost == [("librdkafka consume 1024 B", 0.5), ("librdkafka consume 1024 B", 3.0)]
    made = page(read_results(results), "plots").split("## Where we lose")[1].split("\n## ")[0]
    assert "| librdkafka consume 1024 B | kafka | 0.50 (0.40 to 0.60) | broker |" in made
    assert "| librdkafka consume 1024 B (CPU, less is better) | kafka | 3.00 (3.00 to 3.00) | broker |" in made
    assert "produce" not in made


def test_doubtful_figures_say_so_where_they_are_read_first(results: Path) -> None:
    assert "broker: one round only, with fewer records; others used 40 % of the cores" in headline(
        read_results(results)
    )


def test_every_stored_run_has_remarks_and_ratios_that_can_be_read() -> None:
    for stored in read_results(RESULTS):
        assert stored.remarks, f"write {stored.name}.remarks.md"
        assert all(each.median >= 0 for each in all_ratios(stored))


def test_a_changed_figure_makes_the_page_outdated(results: Path, tmp_path: Path) -> None:
    tool = [sys.executable, ROOT / "docs" / "tools" / "bench_page.py", "--results", results]
    assert subprocess.run(tool, capture_output=True).returncode == 0
    assert subprocess.run([*tool, "--check"], capture_output=True).returncode == 0
    (results / "broker.md").write_text(TABLES.replace("2.00 (1.90", "2.01 (1.90"))
    assert subprocess.run([*tool, "--check"], capture_output=True).returncode == 1


@pytest.mark.parametrize(
    ("busy", "said"), [(3.0, "quiet enough: others use 3 %"), (80.0, "NOT quiet: others use 80 %")]
)
def test_a_machine_that_is_not_quiet_is_told(busy: float, said: str) -> None:
    told: list[str] = []
    found = wait_until_quiet(told.append, lambda _: busy)
    assert told[-1].startswith(said)
    assert found.enough is (busy < 15) is look(lambda _: busy).enough


@pytest.mark.parametrize("name", NAMES)
def test_a_quick_run_leaves_the_stored_results_alone(name: str) -> None:
    """Every benchmark knows the options that `make bench BENCH=quick` gives it."""
    program, script, *options = command(name, quick=True)
    shown = subprocess.run([program, ROOT / script, "--help"], capture_output=True, text=True, cwd=ROOT)
    assert shown.returncode == 0, shown.stderr
    assert all(option in shown.stdout for option in options if option.startswith("--"))
    assert str(QUICK) in options
