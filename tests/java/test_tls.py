"""Kafka's own tools over TLS, unmodified, with a certificate of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.java.jvm import run_process
from tests.support.secured import Secured

TOOLS = "org.apache.kafka.tools"


@pytest.mark.usefixtures("needs_java")
def test_tools_over_tls(tmp_path: Path) -> None:
    """X2: a topic is made and described through a listener that wants a certificate, by --command-config."""
    secured = Secured(tmp_path)
    config = tmp_path / "client.properties"
    config.write_text(
        "security.protocol=SSL\n"
        f"ssl.truststore.type=PEM\nssl.truststore.location={secured.authority.certificate}\n"
        f"ssl.keystore.type=PEM\nssl.keystore.location={secured.client}\n"
    )
    given = ("--bootstrap-server", f"localhost:{secured.mutual}", "--command-config", str(config))
    with secured.process:
        made = run_process(f"{TOOLS}.TopicCommand", *given, "--create", "--topic", "orders", "--partitions", "3")
        assert made.returncode == 0, made.stdout + made.stderr
        offsets = run_process(f"{TOOLS}.GetOffsetShell", *given, "--topic", "orders")
        assert offsets.stdout.split() == ["orders:0:0", "orders:1:0", "orders:2:0"], offsets.stderr
        config.write_text(
            f"security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location={secured.keystore}\n"
        )
        wrong = run_process(f"{TOOLS}.TopicCommand", *given, "--list")
        assert wrong.returncode == 1
        assert "SslAuthenticationException" in wrong.stderr
