"""Spark with the rights that the guide to security gives it, and no others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from tests.support.guide import rights

from holdfast.testing import SecuredBroker, secured_broker


def options(broker: SecuredBroker, user: str) -> dict[str, str]:
    return {"path": str(broker.data), **{f"kafka.{name}": text for name, text in broker.properties(user).items()}}


def test_source_and_sink_need_what_the_guide_says(spark: Any, tmp_path: Path) -> None:
    """X7, X11: rows are written in a transaction, and read again with the tail that the broker has."""
    users = {"source": rights("reads with Spark"), "sink": rights("writes with Spark's sink")}
    with secured_broker(users, tmp_path / "data") as broker:
        producer = Producer(broker.conf("admin"))
        producer.produce("orders", b"first")
        assert producer.flush(60) == 0
        frame = spark.range(50).selectExpr("cast(concat('v', id) as binary) value")
        frame.write.format("holdfast").mode("append").options(**options(broker, "sink"), topic="orders").save()
        read = spark.read.format("holdfast").options(**options(broker, "source"), subscribe="orders").load()
        assert read.count() == 51
