"""librdkafka's own test suite against Holdfast and against Apache Kafka, side by side.

    python tests/suites/librdkafka.py --tests 0011 0081

Each test runs alone, in its quick form, with its own time limit, against a broker that all of them share. What passes
on Kafka and not here is the table that matters; the page docs/reference/librdkafka-suite.md holds it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))  # The checkout, for runs from the command line.

from tests.support import librdkafka
from tests.support.apache import JARS, ApacheKafka, missing

from holdfast.testing.process import RunningBroker

CHECKOUT = Path(__file__).parents[2]
PAGE = CHECKOUT / "docs" / "reference" / "librdkafka-suite.md"
RAW = CHECKOUT / "benchmarks" / "results" / "librdkafka-suite.json"
VERSION_TOLD = "4.1.0"  # Of the broker, to the suite: it leaves out what older ones lack.
_SECONDS_MAX = 240.0
_NAME = re.compile(r"_TEST\((\w+),\s*([^,)]+)")
_SCENARIO = re.compile(r"\.scenario\s*=\s*\"([^\"]+)\"")
_FAILED_AT = re.compile(r"(?:TEST FAILURE|### Test .* failed at)(.*)")
_ITS_CLUSTER = {  # What the suite takes for granted.
    "num.partitions": "4",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "allow.everyone.if.no.acl.found": "true",
    "group.initial.rebalance.delay.ms": "0",
}
SETTINGS = {"default": _ITS_CLUSTER, "noautocreate": {**_ITS_CLUSTER, "auto.create.topics.enable": "false"}}


_THREE = "three copies of a topic"
WHY = {
    "0081_admin": "sets `sasl.kerberos.min.time.before.relogin`, which is refused: there is no Kerberos",
    "0103_transactions": _THREE,
    "0107_topic_recreate": _THREE,
    "0111_delay_create_topics": _THREE,
    "0129_fetch_aborted_msgs": _THREE,
}


class Case(NamedTuple):
    """One test of the suite, and the kind of broker it asks for."""

    name: str
    scenario: str


class Verdict(NamedTuple):
    """What a test said: PASSED, FAILED, SKIPPED, or TIMED OUT; and why."""

    state: str
    seconds: float
    why: str


def cases(source: str) -> list[Case]:
    """Those of the suite that need a broker."""
    table = source[source.index("struct test tests[]") :]
    table = table[: table.index("{NULL}")]
    found = []
    for each in re.split(r"(?=_TEST\()", table)[1:]:
        match = _NAME.match(each)
        assert match, each
        if "LOCAL" in match[2] or "MANUAL" in match[2] or "KNOWN_ISSUE" in match[2].split("|"):
            continue
        asked = _SCENARIO.search(each)
        scenario = asked[1].split(",")[0] if asked else "default"
        found.append(Case(match[1], scenario))
    return found


@contextmanager
def ours(folder: Path, settings: dict[str, str]) -> Iterator[str]:
    """With topics of three copies, which some tests ask for; Kafka would need three brokers for them."""
    given = {**settings, "holdfast.accept.any.replication.factor": "true"}
    options = [word for name, value in given.items() for word in ("--set", f"{name}={value}")]
    with RunningBroker(folder, options=options) as broker:
        yield broker.bootstrap


@contextmanager
def theirs(folder: Path, settings: dict[str, str]) -> Iterator[str]:
    with ApacheKafka(folder, settings=[f"{name}={value}" for name, value in settings.items()]) as broker:
        yield broker.bootstrap


BROKERS = {"holdfast": ours, "kafka": theirs}


def run_all(runner: Path, found: Sequence[Case], broker: str, folder: Path) -> dict[str, Verdict]:
    """Every test against one kind of broker, one after the other."""
    verdicts: dict[str, Verdict] = {}
    for scenario, settings in SETTINGS.items():
        wanted = [each for each in found if each.scenario == scenario]
        if not wanted:
            continue
        with BROKERS[broker](folder / scenario, settings) as bootstrap:
            for each in wanted:
                verdicts[each.name] = run_one(runner, each, bootstrap, folder)
                told = verdicts[each.name]
                print(f"{broker:9} {each.name:45} {told.state:9} {told.seconds:6.1f} s  {told.why}", flush=True)
    return verdicts


TOOLS = {"kafka-topics.sh": "org.apache.kafka.tools.TopicCommand", "kafka-acls.sh": "org.apache.kafka.tools.AclCommand"}


def kafka_home(folder: Path) -> Path:
    """Where the suite finds the tools of Kafka that it calls."""
    for name, program in TOOLS.items():
        tool = folder / "home" / "bin" / name
        tool.parent.mkdir(parents=True, exist_ok=True)
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
        tool.write_text(f"#!/bin/sh\nexec java {quiet} -cp '{JARS}/*' {program} \"$@\"\n")
        tool.chmod(0o755)
    return folder / "home"


def run_one(runner: Path, case: Case, bootstrap: str, folder: Path) -> Verdict:
    conf, report = folder / "test.conf", folder / "report.json"
    conf.write_text(f"bootstrap.servers={bootstrap}\ntest.timeout.multiplier=2\n")  # Two brokers share the machine.
    report.unlink(missing_ok=True)
    told = {
        "TESTS": case.name,
        "RDKAFKA_TEST_CONF": str(conf),
        "TEST_REPORT": str(report),
        "TEST_KAFKA_VERSION": VERSION_TOLD,
        "KAFKA_PATH": str(kafka_home(folder)),
        "BROKERS": bootstrap,
        "LD_LIBRARY_PATH": f"{runner.parents[1] / 'src'}:{runner.parents[1] / 'src-cpp'}",
    }
    command = [str(runner), "-p1", "-Q", "-s", case.scenario]
    with (folder / f"{case.name}.log").open("w+", errors="replace") as said:
        try:
            subprocess.run(
                command,
                cwd=runner.parent,
                env=os.environ | told,
                stdout=said,
                stderr=said,
                timeout=_SECONDS_MAX,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Verdict("TIMED OUT", _SECONDS_MAX, "")
        said.seek(0)
        text = said.read()
    found = json.loads(report.read_text())["tests"].get(case.name) if report.exists() else None
    if found is None:
        return Verdict("CRASHED", 0.0, "")
    failed = _FAILED_AT.search(text)
    return Verdict(found["state"], found["duration"], failed[1].strip()[:160] if failed else "")


def page(verdicts: dict[str, dict[str, Verdict]]) -> str:
    """In numbers, and where the two differ."""
    states = sorted({each.state for told in verdicts.values() for each in told.values()})
    differ = [name for name, told in verdicts["kafka"].items() if told.state != verdicts["holdfast"][name].state]
    lines = [
        "<!-- Written by tests/suites/librdkafka.py: `make suites`. -->",
        "# librdkafka's own suite",
        "",
        f"The tests of librdkafka that need a broker ({librdkafka.CRATE} {librdkafka.VERSION[1:]}), each alone, in its",
        "quick form, against one Holdfast and one Apache Kafka node, at the same time on the same machine. Some ask",
        "for three copies of a topic, and fail on a single node of Kafka.",
        "",
        *rows(
            ["broker", *(each.lower() for each in states)],
            [
                [broker, *(str(sum(each.state == state for each in told.values())) for state in states)]
                for broker, told in verdicts.items()
            ],
        ),
        "",
        "## Where they differ",
        "",
        *rows(
            ["test", "Holdfast", "Apache Kafka", "why"],
            [
                [
                    name,
                    verdicts["holdfast"][name].state.lower(),
                    verdicts["kafka"][name].state.lower(),
                    WHY.get(name, ""),
                ]
                for name in differ
            ],
        ),
    ]
    return "\n".join(lines) + "\n"


def rows(head: list[str], lines: list[list[str]]) -> list[str]:
    """A table in Markdown."""
    return [f"| {' | '.join(each)} |" for each in [head, ["---"] * len(head), *lines]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--tests", nargs="*", help="only those whose names begin so; all others stay as the page has them"
    )
    parser.add_argument("--only", choices=list(BROKERS), help="only this broker; the page is left alone")
    parser.add_argument("--logs", type=Path, help="keep what the tests said here")
    asked = parser.parse_args()
    runner = librdkafka.build("tests/test-runner", ["make", "-j2", "-C", "tests", "build"])
    reason = runner if isinstance(runner, str) else missing()
    if reason or isinstance(runner, str):
        print(f"librdkafka's suite is not run: {reason}", file=sys.stderr)
        return 2
    found = cases((librdkafka.FOLDER / "tests" / "test.c").read_text())
    if asked.tests:
        found = [each for each in found if each.name.startswith(tuple(asked.tests))]
    with ExitStack() as stack:
        folder = asked.logs or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        verdicts: dict[str, dict[str, Verdict]] = {}

        def measure(broker: str) -> None:
            place = folder / broker
            place.mkdir(parents=True, exist_ok=True)
            verdicts[broker] = run_all(runner, found, broker, place)

        threads = [threading.Thread(target=measure, args=(each,)) for each in BROKERS if asked.only in (None, each)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    if not asked.only:
        before = json.loads(RAW.read_text()) if asked.tests and RAW.exists() else {}
        every = {
            broker: {name: Verdict(*each) for name, each in (before.get(broker, {}) | told).items()}
            for broker, told in verdicts.items()
        }
        PAGE.write_text(page(every))
        RAW.write_text(json.dumps(every, indent=1) + "\n")
    mine, other = verdicts.get("holdfast", {}), verdicts.get("kafka", {})
    worse = [name for name in mine if mine[name].state != "PASSED" and other.get(name, mine[name]).state == "PASSED"]
    print(f"{len(mine)} tests; pass on Apache Kafka and not here: {', '.join(worse) or 'none'}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
