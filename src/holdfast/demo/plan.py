"""The steps of the demo, in their order."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from holdfast.demo.account import Account
from holdfast.demo.outcome import DemoClaim, Outcome
from holdfast.demo.stage import Stage
from holdfast.demo.steps.copying import copy_to_second
from holdfast.demo.steps.pipelines import archive, audit
from holdfast.demo.steps.producing import Producing
from holdfast.demo.steps.reading import read_all
from holdfast.demo.steps.subscription import subscribe_to_all


class Step(NamedTuple):
    """One thing that is done and checked."""

    name: str
    does: str
    run: Callable[[Stage], Outcome]


def produce_and_kill(stage: Stage) -> Outcome:
    """The broker is killed when half of the events are acknowledged."""
    producing = Producing(stage, 0, stage.backlog, kill_at=stage.backlog // 2)
    producing.run()
    killed = [at for at, what in stage.moments if what == "SIGKILL"]
    back = [at for at, what in stage.moments if what == "back"]
    claims = (
        DemoClaim("the broker was killed with SIGKILL under load", bool(killed), f"{producing.in_flight:,} in flight"),
        DemoClaim("every event was acknowledged", stage.ledger.acked == stage.backlog, f"{stage.ledger.acked:,}"),
    )
    facts = {"away": f"{back[0] - killed[0]:.2f} s"} if killed and back else {}
    return Outcome(claims, stage.ledger.acked, producing.seconds, facts)


def read_back(stage: Stage) -> Outcome:
    """A Kafka consumer reads the topic from its beginning to its end."""
    account = Account(stage.ledger)
    seconds = read_all(stage, stage.broker(), account)
    found = account.settle()
    claim = found.claim("every acknowledged event is there after the kill, once, at its offset, in order")
    return Outcome((claim,), found.read, seconds)


def stop_and_start(stage: Stage) -> Outcome:
    """A clean stop puts everything into segments, from which Spark and subscribers read."""
    broker = stage.broker()
    began = stage.clock.monotonic()
    code = broker.stop(timeout=60)
    seconds = stage.clock.monotonic() - began
    broker.start()
    sealed = [each.stat().st_size for each in (broker.data / "objects" / "segments").rglob("*.seg")]
    claims = (
        DemoClaim("the broker stopped cleanly, with everything in segments", code == 0, f"{len(sealed)} segments"),
    )
    return Outcome(claims, 0, seconds, {"size": f"{sum(sealed) / 1e6:,.1f} MB"})


STEPS = (
    Step("produce", "a Kafka client writes, and the broker is killed on the way", produce_and_kill),
    Step("read back", "a Kafka client reads all of it", read_back),
    Step("restart", "the broker stops cleanly and starts again", stop_and_start),
    Step("archive", "Parquet from the broker's segments: by Spark where there is much, here in the process", archive),
    Step("audit", "every byte and every offset is checked, in the same way", audit),
    Step("subscribe", "segment references first, then live events", subscribe_to_all),
    Step("sync", "a second broker gets a copy, and both are compared", copy_to_second),
)
