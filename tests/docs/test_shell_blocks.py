"""The commands on our pages: all of them are taken as they stand, and those that need only a broker are run."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from holdfast.cli.main import app
from holdfast.testing import free_port, running_broker

ROOT = Path(__file__).parents[2]


def blocks(page: str) -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


def run(folder: Path, script: str, bootstrap: str = "") -> str:
    """In a shell that stops at the first failure, with a broker that is there, or on a port of its own."""
    bootstrap = bootstrap or f"127.0.0.1:{free_port()}"
    script = script.replace("127.0.0.1:9092", bootstrap)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    found = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    surroundings = clean | {"PATH": found, "HOLDFAST_BOOTSTRAP": bootstrap}
    done = subprocess.run(
        ["bash", "-emc", script], cwd=folder, env=surroundings, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_block_for_other_languages_runs(tmp_path: Path) -> None:
    [block] = blocks("docs/guides/testing-recipes.md")
    assert run(tmp_path, block).split() == ["tea"]


def test_the_first_pipeline_runs_from_its_set_up_on(tmp_path: Path) -> None:
    """The set-up waits for its broker; archive twice, and audit; then an archive that is followed, and a table."""
    setup, first, _, _, follow, tables = blocks("docs/guides/pipelines.md")
    assert "holdfast wait" in setup
    shown = run(tmp_path, setup + first + follow + tables)
    assert "5 rows added" in shown
    assert "0 rows added" in shown
    assert "sound: 100.0000 %" in shown
    assert "rows added" in (tmp_path / "build" / "pipelines" / "commits.txt").read_text()
    assert re.search(r"events\s.*delta.*\s1\s", shown)


def lines(page: Path) -> list[str]:
    """The commands of ours in all blocks of a page, each with what belongs to it and without what is said of it."""
    text = "".join(re.findall(r"^```(?:sh|text)?\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL))
    text = text.replace("\\\n", " ")
    found = re.findall(r"(?:^|\| |&& |\$ |\$\()(?:\.venv/bin/)?(holdfast [a-z][^|&#\n)]*)", text, re.MULTILINE)
    return [re.sub(r"\d?>.*$|<.*$", "", each).strip() for each in found]


WITH_LINES = [page for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")] if lines(page)]


@pytest.mark.parametrize("page", WITH_LINES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_every_page_is_taken_as_it_stands(page: Path) -> None:
    """Its name, its options and how many arguments it has; nothing is done."""
    for line in lines(page):
        command, words = get_command(app), shlex.split(line)[1:]
        while hasattr(command, "commands"):
            assert words, line
            assert words[0] in command.commands, f"{line}: there is no {words[0]}"
            name, *words = words
            command = command.commands[name]
        try:
            command.make_context("it", words)
        except Exception as failure:
            said = str(getattr(failure, "message", failure))
            assert "does not exist" in said, f"{line}: {said}"  # A file that the page has somebody write.


def test_pages_with_commands_are_found() -> None:
    assert len(WITH_LINES) > 12
    assert sum(len(lines(page)) for page in WITH_LINES) > 50


def test_the_commands_about_topics_run(tmp_path: Path) -> None:
    [block] = blocks("docs/guides/topics.md")
    with running_broker() as broker:
        asked = block.replace("topic delete orders", "topic delete orders --yes")
        run(tmp_path, asked, broker.bootstrap)


def test_the_commands_of_subscriptions_and_sync_run(tmp_path: Path) -> None:
    """Those that end by themselves: a subscription since a time, a sync once, and a dry run."""
    subscribing = [each for each in lines(ROOT / "docs/guides/subscribe.md") if "--since earliest" in each]
    syncing = [each for each in lines(ROOT / "docs/guides/sync.md") if "--once" in each or "--dry-run" in each]
    assert (len(subscribing), len(syncing)) == (1, 2)
    with running_broker(subscribe_listen=f"127.0.0.1:{(port := free_port())}") as one, running_broker() as other:
        one.topic("files", ("/home/a", "tea"))
        shown = run(tmp_path, f"{subscribing[0]} --address 127.0.0.1:{port}", one.bootstrap)
        assert json.loads(shown)["value"] == "tea"
        for each in syncing[::-1]:
            text = each.replace("a.example:9092", one.bootstrap).replace("b.example:9092", other.bootstrap)
            run(tmp_path, text, one.bootstrap)
        assert [each.value for each in other.read("files")] == [b"tea"]


def test_a_backup_is_made_restored_and_served_as_the_guide_says(tmp_path: Path) -> None:
    backing_up, *_, restoring = blocks("docs/guides/backup.md")
    place = str(tmp_path / "backup")
    with running_broker(tmp_path / "data") as broker:
        broker.topic("orders", "tea")
        run(tmp_path, backing_up.replace("/backup/holdfast", place), broker.bootstrap)
    (tmp_path / "data").rename(tmp_path / "lost")
    run(tmp_path, restoring.splitlines()[0].replace("/backup/holdfast", place), "127.0.0.1:1")
    with running_broker(tmp_path / "data") as broker:
        assert [each.value for each in broker.read("orders")] == [b"tea"]
