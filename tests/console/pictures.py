"""Makes the pictures of the README: `make pictures`. A broker with data, some traffic, and a real browser."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # So that it runs as a file, too.

from confluent_kafka import Consumer, Producer
from tests.console.asking import Asked
from tests.console.browser import Watched, browser
from tests.console.pictured import DRAWN, IMAGES, drawn_by
from tests.console.seeding import open_transaction, seed

from holdfast.testing import free_port, running_broker

TRAFFIC_S = 45  # So that lines have a shape.


def traffic(conf: dict[str, Any], stop: threading.Event) -> None:
    """Some records a second, more and fewer by turns, and somebody who reads them."""
    producer = Producer(conf | {"linger.ms": 20})
    consumer = Consumer(conf | {"group.id": "shipping", "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    turn = 0
    while not stop.wait(0.1):
        turn += 1
        for number in range(20 + 15 * (turn // 40 % 3)):
            producer.produce("orders", f'{{"order": {turn * 100 + number}}}', f"key-{number}", partition=1 + number % 2)
            producer.produce("clicks", f"click {number}" * 8, f"c{number}")
        producer.flush(10)
        consumer.consume(500, 0.01)
    consumer.close()


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    port, stop = free_port(), threading.Event()
    with (
        running_broker(serve_console_listen=f"127.0.0.1:{port}", wal_marker_delay_ms=50) as broker,
        browser() as opened,
    ):
        conf = {"bootstrap.servers": broker.bootstrap}
        hanging = seed(conf)
        Asked(port).wait_for("/topics/orders/0", lambda page: page["segments"])
        open_transaction(conf, hanging)
        busy = threading.Thread(target=traffic, args=(conf, stop), daemon=True)
        busy.start()
        stop.wait(TRAFFIC_S)
        context = opened.new_context(viewport={"width": 1280, "height": 800}, device_scale_factor=1)
        tab = Watched(context.new_page(), port)
        for name, path, wanted in (
            ("console", "/", "path[data-name=records]"),
            ("console-partition", "/topics/orders/0", ".tiles li"),
        ):
            page = tab.open(path)
            page.wait_for_selector(wanted)
            page.screenshot(path=str(IMAGES / f"{name}.png"))
        stop.set()
        busy.join(10)
        assert tab.wrong == [], tab.wrong
        DRAWN.write_text(drawn_by() + "\n")
        del hanging


if __name__ == "__main__":
    main()
