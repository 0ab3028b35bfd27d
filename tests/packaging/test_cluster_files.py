"""The files that start several brokers name what exists, and their commands serve as one cluster.

Containers, Kubernetes and systemd itself are not run here: their commands are, as processes, on a real S3 server.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka.admin import AdminClient, NewTopic
from tests.cluster.test_pair import Writers
from tests.kill.numbers import PARTITIONS, QUIET, TOPIC
from tests.support.broker_process import COMMAND
from tests.support.s3_server import S3Server, missing
from typer.main import get_command

from holdfast import config
from holdfast.cli.main import app
from holdfast.testing import RunningBroker, free_port

PACKAGING = Path(__file__).parents[2] / "packaging"
COMPOSE = yaml.safe_load((PACKAGING / "compose-cluster.yaml").read_text())["services"]
MANIFESTS = list(yaml.safe_load_all((PACKAGING / "kubernetes.yaml").read_text()))
UNITS = ("holdfast.service", "holdfast@.service", "holdfast-workers.service")
BROKERS = ("broker-1", "broker-2", "broker-3")
_START_S = 60


def pod() -> dict[str, Any]:
    [found] = [each for each in MANIFESTS if each["kind"] == "StatefulSet"]
    return found["spec"]["template"]["spec"]


def pod_command(name: str) -> list[str]:
    """What a pod of that name runs, as its shell sees it."""
    [container] = pod()["containers"]
    script = container["args"][0].replace("exec ", "printf '%s\\n' ", 1)
    told = subprocess.run(["/bin/sh", "-c", script], env={"POD_NAME": name}, capture_output=True, text=True, check=True)
    return told.stdout.splitlines()


def unit_command(unit: str) -> list[str]:
    [line] = re.findall(r"^ExecStart=(.*)$", (PACKAGING / unit).read_text(), re.MULTILINE)
    return shlex.split(line.replace("%i", "7"))


def commands() -> Iterator[tuple[str, list[str]]]:
    yield "kubernetes", pod_command("holdfast-2")[1:]
    for unit in UNITS:
        yield unit, unit_command(unit)[1:]
    for broker in BROKERS:
        yield broker, COMPOSE[broker]["command"]


@pytest.mark.parametrize(("where", "words"), list(commands()), ids=[where for where, _ in commands()])
def test_every_option_and_setting_of_a_command_is_known(where: str, words: list[str]) -> None:
    """C1, C9: options, settings behind --set, and variables."""
    name, *options = words
    context = get_command(app).commands[name].make_context(name, options)  # type: ignore[attr-defined]
    given = [options[at + 1] for at, word in enumerate(options) if word == "--set"]
    config.load(None, _own(COMPOSE[where]["environment"]) if where in COMPOSE else {}, given)
    assert context.params["data"]
    known = {config.variable_of(each) for each in config.known()} | {"HOLDFAST_NAME"}
    for file in ("compose-cluster.yaml", "kubernetes.yaml", *UNITS):
        assert set(re.findall(r"HOLDFAST_[A-Z_]+", (PACKAGING / file).read_text())) <= known


def _own(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if name.startswith("HOLDFAST_")}


def test_a_pod_has_its_own_number_and_address_and_claims_no_volume() -> None:
    """C4: nothing but the bucket is kept."""
    words = pod_command("holdfast-2")
    assert "node.id=2" in words
    assert words[words.index("--advertise") + 1] == "holdfast-2.holdfast:9092"
    [stateful] = [each for each in MANIFESTS if each["kind"] == "StatefulSet"]
    assert "volumeClaimTemplates" not in stateful["spec"]
    assert all("emptyDir" in each for each in pod()["volumes"])
    [service] = [each for each in MANIFESTS if each["kind"] == "Service"]
    assert stateful["spec"]["serviceName"] == service["metadata"]["name"]
    assert service["spec"]["selector"].items() <= stateful["spec"]["template"]["metadata"]["labels"].items()
    [container] = pod()["containers"]
    told = {each["name"]: each["port"] for each in service["spec"]["ports"]}
    assert told == {each["name"]: each["containerPort"] for each in container["ports"]}
    assert f"subscribe.listen=0.0.0.0:{told['subscribers']}" in words
    assert not any("data" in each for each in COMPOSE["broker-1"].get("volumes", ()))


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
@pytest.mark.parametrize("unit", UNITS)
def test_systemd_finds_nothing_wrong(unit: str, tmp_path: Path) -> None:
    """O1: with a command that exists in the place of the installed one."""
    text = (
        (PACKAGING / unit).read_text().replace("/opt/holdfast/bin/holdfast", str(COMMAND)).replace("User=holdfast", "")
    )
    copied = tmp_path / unit.replace("@", "@7")
    copied.write_text(text)
    told = subprocess.run(["systemd-analyze", "verify", str(copied)], capture_output=True, text=True)
    said = [line for line in (told.stdout + told.stderr).splitlines() if unit.partition(".")[0].rstrip("@") in line]
    assert not said, said


def here(listeners: str, ports: Mapping[str, int]) -> str:
    """The same listeners, on these ports of this machine."""
    return ",".join(
        f"{each.partition(':')[0]}://127.0.0.1:{ports[each.partition(':')[0]]}" for each in listeners.split(",")
    )


@contextmanager
def composed(folder: Path, server: S3Server) -> Iterator[dict[str, str]]:
    """The brokers of the compose file as processes: other ports, one machine; their addresses."""
    places = {"s3://topics/cluster": f"s3://{server.fresh_bucket()}/cluster"}
    secret = {f"AWS_{name.upper()}": value for name, value in server.options.items()}
    with ExitStack() as stack:
        addresses = {}
        for name in BROKERS:
            serve, data, _, *words = COMPOSE[name]["command"]
            assert (serve, data) == ("serve", "--data")
            own = _own(COMPOSE[name]["environment"])
            ports = {"INSIDE": free_port(), "OUTSIDE": free_port()}
            for variable in ("HOLDFAST_LISTENERS", "HOLDFAST_ADVERTISED_LISTENERS"):
                own[variable] = here(own[variable], ports)
            options = [places.get(word, word) for word in words]
            given = {"environment": {**secret, **own}, "options": options, "sets_listeners": True}
            stack.enter_context(RunningBroker(folder / name, port=ports["OUTSIDE"], **given))
            addresses[name] = f"127.0.0.1:{ports['OUTSIDE']}"
        yield addresses


def until_led_by_all(admin: AdminClient) -> None:
    """Make a topic when all brokers are known, and wait until each leads something of it."""
    deadline = time.monotonic() + _START_S
    while set(admin.list_topics(timeout=10).brokers) != {1, 2, 3}:
        assert time.monotonic() < deadline, "a broker is not known"
        time.sleep(0.1)
    admin.create_topics([NewTopic(TOPIC, PARTITIONS)])[TOPIC].result()
    while True:
        found = admin.list_topics(TOPIC, timeout=10).topics[TOPIC].partitions
        if {each.leader for each in found.values()} == {1, 2, 3}:
            return
        assert time.monotonic() < deadline, "a broker leads nothing"
        time.sleep(0.1)


@pytest.mark.s3
@pytest.mark.timeout(180)
def test_what_the_compose_file_starts_is_one_cluster(tmp_path: Path) -> None:
    """C1: three brokers, each leads, and clients write through all of them."""
    if reason := missing():
        pytest.skip(reason)
    with S3Server() as server, composed(tmp_path, server) as addresses:
        admin = AdminClient({**QUIET, "bootstrap.servers": addresses["broker-2"]})
        until_led_by_all(admin)
        writers = Writers(",".join(addresses.values()))
        try:
            writers.more(200)
        finally:
            writers.end()
        writers.check(",".join(addresses.values()))
