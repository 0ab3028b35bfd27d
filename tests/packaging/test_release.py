"""What a public forge and a release need: files that are there, and say what is true."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_workflow_runs_what_a_checkout_has() -> None:
    """Targets of make and files that it names exist, and the oldest Python is the one that we ask for."""
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for command in commands:
        first, *words = command.split()
        if first == "make":
            assert set(words) <= targets
        elif not first.startswith(".venv/"):
            assert (ROOT / first).is_file()
        assert all((ROOT / word).exists() for word in words if word.endswith(".py"))
    assert f">={jobs['wheel']['strategy']['matrix']['python'][0]}" == PROJECT["requires-python"]


def test_the_changelog_has_the_release_that_is_being_made_by_kind() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    newest, *_ = re.findall(r"^## (\d+\.\d+\.\d+)", text, re.MULTILINE)
    assert PROJECT["version"].startswith(newest)
    part = text.partition(f"## {newest}")[2].partition("\n## ")[0]
    assert {"Added", "Guarantees", "Formats"} <= set(re.findall(r"^### (\w+)", part, re.MULTILINE))


def test_a_stranger_finds_where_to_report() -> None:
    for file in ("SECURITY.md", ".github/PULL_REQUEST_TEMPLATE.md", ".github/ISSUE_TEMPLATE/bug.md", "LICENSE"):
        assert (ROOT / file).is_file()
    assert "SECURITY.md" in (ROOT / "README.md").read_text()


def test_the_compose_file_starts_what_exists() -> None:
    """Its broker's command and variables are those of a broker."""
    from typer.main import get_command

    from holdfast import config
    from holdfast.cli.main import app

    broker = yaml.safe_load((ROOT / "packaging" / "compose.yaml").read_text())["services"]["broker"]
    name, *options = broker["command"]
    found = get_command(app).commands[name].make_context(name, options)  # type: ignore[attr-defined]
    assert found.params["store"].startswith("s3://")
    own = {each for each in broker["environment"] if each.startswith("HOLDFAST_")}
    assert own <= {config.variable_of(each) for each in config.known()}
