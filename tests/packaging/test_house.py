"""Rules of the house that a machine can check: CONTRIBUTING.md says why."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


def own_names(tree: ast.Module) -> set[str]:
    """What a file calls by a name that is ours."""
    found = {"holdfast"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "holdfast":
            found |= {each.asname or each.name for each in node.names}
        if isinstance(node, ast.Import):
            found |= {each.asname for each in node.names if each.asname and each.name.startswith("holdfast.")}
    return found


def patched(call: ast.Call) -> list[str]:
    """The dotted path of what a call of `setattr` replaces; of an object that the test holds, its type's."""
    target, name = call.args[0], call.args[1]
    if isinstance(target, ast.Constant):
        return str(target.value).split(".")
    path = [str(name.value) if isinstance(name, ast.Constant) else "?"]
    if isinstance(target, ast.Call):  # type(target)
        return ["holdfast", *path]
    while isinstance(target, ast.Attribute):
        path.insert(0, target.attr)
        target = target.value
    return [*([target.id] if isinstance(target, ast.Name) else []), *path]


def own_patches(source: str) -> Iterator[str]:
    """Our own functions and classes that a test replaces. A limit, in capitals, may be made a smaller one, and what we
    import from elsewhere may be another.
    """
    tree = ast.parse(source)
    own = own_names(tree)
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "setattr":
            path = patched(call)
            if path[0] in own and not path[-1].strip("_").isupper() and path[1] != "ctypes":
                yield f"line {call.lineno}: {'.'.join(path)}"


def test_no_test_replaces_our_own_functions() -> None:
    """CONTRIBUTING: real parts, no mocks of our own code: what must happen in between comes in by a door for users."""
    found = {
        str(path.relative_to(ROOT)): lines
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if (lines := list(own_patches(path.read_text())))
    }
    assert found == {}


def test_a_replaced_function_is_seen() -> None:
    """The check above sees every way in which a test has done it."""
    seen = """
from holdfast.spark.jobs import run as running
from holdfast.spark.jobs.run import Done
import holdfast.log.logs as logs
patch.setattr(running, "run_units", None)
monkeypatch.setattr(Done, "tasks", None)
monkeypatch.setattr(logs.Logs, "open", None)
monkeypatch.setattr(type(target), "commit", None)
monkeypatch.setattr("holdfast.spark.jobs.run.run_units", None)
"""
    passed = """
import os
from holdfast.log import metadata
from holdfast.io.objects.local import files
monkeypatch.setattr(os, "fsync", None)
monkeypatch.setattr(metadata, "DELETED_MAX", 3)
monkeypatch.setattr("holdfast.log.metadata._SAY_S", 3)
monkeypatch.setattr(files.ctypes, "CDLL", None)
"""
    assert [each.partition(": ")[2] for each in own_patches(seen)] == [
        "running.run_units",
        "Done.tasks",
        "logs.Logs.open",
        "holdfast.commit",
        "holdfast.spark.jobs.run.run_units",
    ]
    assert list(own_patches(passed)) == []


def test_the_version_is_that_of_the_changelog() -> None:
    """The newest heading says which release this is, and whether it is out: until then it is a dev version of it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    heading = re.search(r"^## (\S+)( \(unreleased\))?", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert heading is not None
    release, unreleased = heading.groups()
    assert project == (f"{release}.dev0" if unreleased else release)
    if unreleased:
        assert f"On the way to release {release}," in (ROOT / "README.md").read_text()


def test_a_class_says_of_what_it_is() -> None:
    """CONTRIBUTING: one word, one thing. A few names are the field's on both sides of the wire, or of a wall."""
    homes: dict[str, list[str]] = {}
    for path in sorted((ROOT / "src" / "holdfast").rglob("*.py")):
        if "generated" not in path.parts:
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ClassDef):
                    homes.setdefault(node.name, []).append(f"{path.relative_to(ROOT)}:{node.lineno}")
    twice = {name: places for name, places in homes.items() if len(places) > 1}
    assert len(twice) < 15, twice


def test_no_cycle_of_imports_hides_behind_type_checking() -> None:
    """Imports go one way: below the doors, what a file works on it imports; only a face names what it loads later."""
    rooms = ["catalog", "cluster", "io", "log", "metrics", "operate", "record", "security", "segment", "wal"]
    hidden = [
        str(path.relative_to(ROOT))
        for room in rooms
        for path in sorted((ROOT / "src" / "holdfast" / room).rglob("*.py"))
        if "TYPE_CHECKING" in path.read_text() and path.name != "__init__.py"
    ]
    assert hidden == []


def test_every_requirement_has_bounds_that_the_pinned_version_fits() -> None:
    """Whoever installs the wheel gets what was tested, or something near it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [each for extra in project["optional-dependencies"].values() for each in extra]
    wanted = [*project["dependencies"], *(each for each in extras if not each.startswith("holdfast["))]
    pinned: dict[str, set[str]] = {}
    for file in (ROOT / "requirements").glob("*.txt"):
        for name, version in re.findall(r"^([\w.-]+)==([\w.]+)", file.read_text(), re.MULTILINE):
            pinned.setdefault(name, set()).add(version)
    for each in map(Requirement, wanted):
        assert {one.operator for one in each.specifier} == {">=", "<"}, each
        assert pinned[each.name], each
        assert all(version in each.specifier for version in pinned[each.name]), (each, pinned[each.name])
    base, arrow = project["dependencies"], project["optional-dependencies"]["arrow"]
    assert {Requirement(each).name for each in base} == named_in("base.in")
    assert {Requirement(each).name for each in [*base, *arrow]} == named_in("run.in")


def named_in(file: str) -> set[str]:
    lines = (ROOT / "requirements" / file).read_text().splitlines()
    return {line for line in lines if line and not line.startswith(("#", "-c"))}


def test_nothing_that_is_committed_points_out_of_the_checkout() -> None:
    """A link to a folder of one machine is nowhere on all others, and takes the place of what is made there."""
    listed = subprocess.check_output(["git", "ls-files", "--stage"], cwd=ROOT, text=True).splitlines()
    assert len(listed) > 1000
    assert [each for each in listed if each.startswith("120000")] == []
