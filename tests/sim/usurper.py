"""A broker that is suspended while another one, on a copy of its disk, takes its place; then it goes on.

The copy is of the moment of the suspend, so it holds all that was acknowledged. It lives a life of its own, in a thread
for which the suspended one waits: the same seed gives the same run. Whoever goes on afterwards must not acknowledge
anything, and whatever it still tries on the store must not harm.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tests.sim.broker_life import BrokerLife, turns
from tests.sim.producers import answers, produce_fields

from holdfast.record.build import build
from holdfast.record.records import Record

SLEEP_S = 10.0  # At least: longer than anybody waits before he looks whether he was stopped.
STEPS = 12


def in_thread(work: Callable[[], None]) -> None:
    """Do it in a thread with an event loop of its own, and wait for it, whatever loop runs here."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as failure:
            failed.append(failure)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


async def go_on(life: BrokerLife, work_in_the_background: Callable[[BrokerLife], None]) -> None:
    """What a broker does that does not know yet that another has taken its place."""
    life.is_usurped = True
    for number in range(STEPS):
        if life.is_over:
            return
        if number % 3 == 0:
            _send(life, number)
        else:
            work_in_the_background(life)
        await turns(20)


def _send(life: BrokerLife, number: int) -> None:
    """A record that nobody may ever see: the model does not know it."""
    topics = life.model.live()
    if not topics:
        return
    topic = life.random.choice(topics)
    batch = bytes(build([Record(None, b"usurped:%d" % number, life.stamp())]))

    def tell(answer: Any) -> None:
        [part] = answers(answer)
        assert part.error_code, "A broker acknowledged a record after another had taken its place."
        life.counts["refused after a suspend"] += 1

    life.produce(13, produce_fields(13, [(topic, 0, batch)], -1), tell, life.held)
