"""Kafka Streams with the rights that the guide to security gives it, and no others."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.java.jvm import Jvm
from tests.java.test_exactly_once import Words, until
from tests.support.guide import rights

from holdfast.testing import free_port, secured_broker

SESSIONS: dict[str, Any] = {
    "group_min_session_timeout_ms": 1000,
    "group_consumer_min_heartbeat_interval_ms": 50,
    "group_consumer_heartbeat_interval_ms": 50,
    "group_consumer_min_session_timeout_ms": 6000,
    "group_consumer_session_timeout_ms": 6000,
}


def test_streams_need_what_the_guide_says(needs_java: None, name: str, tmp_path: Path) -> None:
    """X7, K4: with exactly-once, a changelog and a repartition topic, which it makes itself."""
    port = free_port()
    allowed = [each.replace(":app*", f":{name}*") for each in rights("runs Kafka Streams")]
    allowed.append("DESCRIBE group:nobody")  # Of the test's own readers: librdkafka asks on and on where it is refused.
    plain = {"listeners": f"PLAINTEXT://127.0.0.1:{port}", **SESSIONS}
    with secured_broker({"ANONYMOUS": allowed}, port=port, **plain) as broker, Jvm(broker.bootstrap) as java:
        words = Words(SimpleNamespace(address=broker.bootstrap), java, name)  # type: ignore[arg-type]
        words.start("only", tmp_path)
        words.send(100)
        words.sent_all()
        until(lambda: words.counted() >= 100, "not all words are counted")
        assert java.do("streams.close", name="only") == []
        assert not [each for each in broker.said if "refused: " in each and f"TOPIC '{name}" in each]
