"""A real Kafka client writes events, and the broker is killed under it.

librdkafka with idempotence, as any program would use it. What it was told is kept: an event counts as acknowledged when
its own delivery report says so, and the report's partition and offset go to the ledger.
"""

from __future__ import annotations

from typing import Any

from holdfast.demo.events import TOPIC
from holdfast.demo.outcome import NotThere
from holdfast.demo.stage import Stage
from holdfast.demo.steps.restarting import Restarting
from holdfast.errors import Unavailable
from holdfast.extras import how_to_get

_COLUMN = 50_000
_SAMPLE_S = 0.1
_UNACKED_MAX = 100_000  # The client's queue.
_SILENT_S_MAX = 120.0  # No ack for so long, whatever happens to the broker, is a failure.


def confluent_kafka() -> Any:
    """The client's package, or what to do to have it."""
    try:
        import confluent_kafka as package
    except ImportError as failure:
        raise NotThere("confluent-kafka", how_to_get("demo")) from failure
    return package


class Producing:
    """Writes events `start` to `end`; with `kill_at`, the broker is killed when so many of them are acknowledged."""

    def __init__(self, stage: Stage, start: int, end: int, kill_at: int | None = None) -> None:
        self._stage = stage
        self._start, self._end = start, end
        self._kill_at = kill_at
        self._broker = stage.broker()
        settings = {
            "bootstrap.servers": self._broker.bootstrap,
            "enable.idempotence": True,
            "linger.ms": 5,
            "compression.type": "lz4",
            "reconnect.backoff.max.ms": 500,
            "log_level": 0,  # It would tell of the kill, which is no news.
            "error_cb": lambda _: None,
        }
        package = confluent_kafka()
        self._producer = stage.interrupt.behind(lambda: package.Producer(settings))
        # So that there is something in flight when the broker dies, and something left to send.
        self._unacked_max = max(min(_UNACKED_MAX, (end - start) // 10), 1)
        self._values: list[bytes] = []  # Of reports that came since the last column was made.
        self._columns: list[Any] = []
        self._partitions: list[int] = []
        self._offsets: list[int] = []
        self._refused: list[str] = []
        self._restarting = Restarting(self._broker, self._back)
        self._sampled = self._heard = self._began = stage.clock.monotonic()
        self.acked = 0
        self.in_flight = 0  # When the broker was killed.
        self.seconds = 0.0

    def run(self) -> None:
        """Until every event is acknowledged; raises when one is refused."""
        with self._restarting:
            for number, (key, value) in enumerate(self._stage.events.of(self._start, self._end)):
                while number - self.acked >= self._unacked_max:
                    self._poll(number, 0.05)
                self._producer.produce(TOPIC, value=value, key=key, on_delivery=self._told)
                if number % 100 == 0:
                    self._poll(number + 1, 0)
            while self.acked < self._end - self._start:
                self._poll(self._end - self._start, 0.05)
        self._sample(now=self._stage.clock.monotonic())
        self.seconds = self._stage.clock.monotonic() - self._began
        self._note()

    def _poll(self, sent: int, timeout: float) -> None:
        before = self.acked
        self._stage.interrupt.behind(lambda: self._producer.poll(timeout))
        if self._refused:
            raise Unavailable(f"{len(self._refused)} events were not acknowledged; the first: {self._refused[0]}")
        now = self._stage.clock.monotonic()
        if self.acked > before:
            self._heard = now
        elif now - self._heard > _SILENT_S_MAX:
            raise Unavailable(f"nothing was acknowledged for {_SILENT_S_MAX:.0f} s")
        self._restarting.check()
        if now - self._sampled >= _SAMPLE_S:
            self._sample(now)
        if self._kill_at is not None and self._kill_at <= self.acked < sent:  # With something in flight.
            self._kill(sent)

    def _kill(self, sent: int) -> None:
        self._kill_at = None
        self.in_flight = sent - self.acked
        self._broker.kill()
        self._stage.moments.append((self._stage.clock.monotonic() - self._began, "SIGKILL"))
        self._stage.watch.say(f"killed the broker with SIGKILL: {self.acked:,} acked, {self.in_flight:,} in flight")
        self._restarting.ask()

    def _back(self) -> None:
        killed_at = self._stage.moments[-1][0]
        back_at = self._stage.clock.monotonic() - self._began
        self._stage.moments.append((back_at, "back"))
        self._stage.watch.say(f"started it again: it serves after {back_at - killed_at:.2f} s")

    def _told(self, error: Any, message: Any) -> None:
        """The delivery report of one event."""
        if error is not None:
            self._refused.append(str(error))
            return
        self._values.append(message.value())
        self._partitions.append(message.partition())
        self._offsets.append(message.offset())
        self.acked += 1
        if len(self._values) >= _COLUMN:
            self._pack()

    def _pack(self) -> None:
        """A column of Arrow takes a fraction of the memory of as many objects."""
        import pyarrow as pa

        self._columns.append(pa.array(self._values, pa.binary()))
        self._values = []

    def _note(self) -> None:
        import pyarrow as pa

        self._pack()
        self._stage.ledger.note(pa.chunked_array(self._columns), self._partitions, self._offsets)

    def _sample(self, now: float) -> None:
        self._sampled = now
        if self._start == 0:
            self._stage.timeline.append((now - self._began, self.acked))
        self._stage.watch.at(self.acked, self._end - self._start)
