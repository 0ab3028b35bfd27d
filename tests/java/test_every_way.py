"""Java's clients and tools through every kind of listener, with Kafka's own words."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.java.jvm import CLASS_PATH, OPTIONS, run_process
from tests.support.every_way import WAYS, EveryWay

from holdfast.client.errors import LoginRefused

PROGRAM = Path(__file__).with_name("EveryWay.java")
ALLOWED = "-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=file://"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EveryWay]:
    with EveryWay(tmp_path_factory.mktemp("ways")).running() as place:
        yield place


@pytest.mark.usefixtures("needs_java")
def test_clients(place: EveryWay) -> None:
    """X2, X4: an admin client, a producer and a group in one JVM, one way after the other."""
    files = [place.file(way, f"{number}.properties") for number, way in enumerate(WAYS)]
    for file, way in zip(files, WAYS, strict=True):
        if way.endswith("certificate"):  # Java knows no key that is encrypted as openssl does it.
            own = place.authority.signed("java", "CN=Java,O=Tests")
            file.write_text(file.read_text() + f"ssl.keystore.type=PEM\nssl.keystore.location={own}\n")
            file.write_text(file.read_text().replace("ssl.key.password", "#"))
        if way.endswith("OAUTHBEARER"):
            handler = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
            file.write_text(file.read_text() + f"sasl.login.callback.handler.class={handler}\n")
    command = ["java", *OPTIONS, f"{ALLOWED}{place.token}", "-cp", CLASS_PATH, PROGRAM, "java", *files]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert done.stdout.split("\n")[:-1] == [f"value of java-{number + 1}" for number in range(len(WAYS))], done.stderr


@pytest.mark.usefixtures("needs_java")
@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_users_are_made_and_removed_by_kafkas_own_tool(place: EveryWay, mechanism: str) -> None:
    """X6: kafka-configs, unmodified, logged in as somebody; whom it makes can log in, and not when they are removed."""
    way = f"SASL_SSL {mechanism}"
    given = ["--bootstrap-server", f"localhost:{place.port(way)}", "--command-config", str(place.file(way))]
    user = [*given, "--entity-type", "users", "--entity-name", f"carol-{mechanism}", "--alter"]
    made = run_process("kafka.admin.ConfigCommand", *user, "--add-config", f"{mechanism}=[password=of-carol]")
    assert made.returncode == 0, made.stdout + made.stderr
    with place.client(way, user=f"carol-{mechanism}", password="of-carol") as client:
        assert client.metadata([]) is not None
    described = run_process("kafka.admin.ConfigCommand", *user[:-1], "--describe")
    assert f"{mechanism}=iterations=" in described.stdout, described.stderr
    assert "of-carol" not in described.stdout
    gone = run_process("kafka.admin.ConfigCommand", *user, "--delete-config", mechanism)
    assert gone.returncode == 0, gone.stdout + gone.stderr
    with place.client(way, user=f"carol-{mechanism}", password="of-carol") as client, pytest.raises(LoginRefused):
        client.metadata([])
