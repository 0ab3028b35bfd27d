"""A real Prometheus scrapes a real broker: our alerts load, and every expression that we publish gives data."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import Consumer, Producer

from holdfast.testing import free_port, running_broker

ROOT = Path(__file__).parents[2]
RULES = ROOT / "packaging" / "prometheus" / "alerts.yml"
CONFIG = ROOT / "packaging" / "prometheus" / "prometheus.yml"
BOARD = ROOT / "packaging" / "grafana" / "holdfast.json"
GUIDE = ROOT / "docs" / "guides" / "metrics.md"

promtool = shutil.which("promtool")
prometheus = shutil.which("prometheus")
pytestmark = pytest.mark.skipif(not (promtool and prometheus), reason="needs Prometheus")

COMPARED = re.compile(r" (==|<|>) (?!bool)")
WAIT_S = 60.0


def alerts() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def published() -> list[str]:
    """Every expression of the dashboard and of the guide, and of every alert whether it holds."""
    board = json.loads(BOARD.read_text())
    of_board = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    table = [line for line in GUIDE.read_text().splitlines() if line.startswith("| ")]
    quoted = [each for line in table for each in re.findall(r"`([^`]+)`", line.partition(" | ")[2])]
    of_guide = [each for each in quoted if "holdfast_" in each]
    return sorted({*of_board, *of_guide, *(COMPARED.sub(r" \1 bool ", each["expr"]) for each in alerts())})


class Asked:
    """A Prometheus that watches a broker."""

    def __init__(self, port: int) -> None:
        self._port = port

    def ask(self, path: str, **query: str) -> Any:
        url = f"http://127.0.0.1:{self._port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)["data"]

    def data(self, expression: str) -> list[Any]:
        return list(self.ask("query", query=expression)["result"])


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    folder = tmp_path_factory.mktemp("prometheus")
    metrics, port = free_port(), free_port()
    settings = {"serve_metrics_listen": f"127.0.0.1:{metrics}", "subscribe_listen": "127.0.0.1:0"}
    config = yaml.safe_load(CONFIG.read_text())
    config["global"] = {"scrape_interval": "500ms", "evaluation_interval": "1s"}
    config["rule_files"] = [str(RULES)]
    config["scrape_configs"][0]["static_configs"] = [{"targets": [f"127.0.0.1:{metrics}"]}]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    with running_broker(**settings) as broker:
        assert prometheus is not None
        command = [prometheus, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
        command.append(f"--web.listen-address=127.0.0.1:{port}")
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=(folder / "said").open("w")) as process:
            try:
                use(broker.bootstrap)
                yield Asked(port)
            finally:
                process.kill()


def use(bootstrap: str) -> None:
    """What a broker is for: somebody writes, somebody reads and commits."""
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(100):
        producer.produce("orders", f"{number}".encode())
    assert producer.flush(60) == 0
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "billing", "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    assert consumer.poll(60) is not None
    consumer.list_topics("there is none", timeout=60)  # An error that is counted.
    consumer.commit(asynchronous=False)
    consumer.close()


def test_the_rules_and_the_config_are_taken() -> None:
    """Also by promtool, which is stricter."""
    assert promtool is not None
    for checked in (["rules", RULES], ["config", CONFIG]):
        done = subprocess.run([promtool, "check", *checked], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_every_expression_gives_data(asked: Asked) -> None:
    """Of the dashboard, of the guide, and of every alert."""
    left = set(published())
    assert len(left) > 40
    until = time.monotonic() + WAIT_S
    while left and time.monotonic() < until:
        with contextlib.suppress(OSError):  # It does not listen yet.
            left = {each for each in left if not asked.data(each)}
        time.sleep(0.5)
    assert not left


def test_no_alert_fires_where_all_is_well(asked: Asked) -> None:
    until = time.monotonic() + WAIT_S
    groups: list[Any] = []
    while time.monotonic() < until and not (groups and all(rule["health"] == "ok" for rule in groups)):
        groups = [rule for group in asked.ask("rules")["groups"] for rule in group["rules"]]
        time.sleep(0.5)
    assert {rule["health"] for rule in groups} == {"ok"}
    assert [rule["name"] for rule in groups if rule["state"] == "firing"] == []


def test_every_alert_says_what_to_do() -> None:
    for each in alerts():
        assert each["labels"]["severity"] in ("critical", "warning")
        assert set(each["annotations"]) == {"summary", "description"}
        for page, _, anchor in (found.partition("#") for found in re.findall(r"docs/\S+\.md#?[\w-]*", str(each))):
            headings = re.findall(r"^#+ (.+)$", (ROOT / page).read_text(), re.MULTILINE)
            assert not anchor or anchor in {heading.lower().replace(" ", "-") for heading in headings}
