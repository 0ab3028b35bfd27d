"""`holdfast sync` copies everything to a second broker, and both are compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.demo.account import Account
from holdfast.demo.commands import run_command
from holdfast.demo.events import TOPIC
from holdfast.demo.outcome import Outcome
from holdfast.demo.stage import Stage
from holdfast.demo.steps.reading import read_all


def copy_to_second(stage: Stage) -> Outcome:
    """The copy is read with a Kafka client, and held against what the first broker acknowledged."""
    first, second = stage.broker(), stage.broker("second")

    def seen(facts: Mapping[str, Any]) -> None:
        stage.watch.at(int(facts["records"]), stage.ledger.acked)

    began = stage.clock.monotonic()
    said = run_command("sync", first.bootstrap, second.bootstrap, "--topics", TOPIC, "--once", on_facts=seen)
    seconds = stage.clock.monotonic() - began
    account = Account(stage.ledger, offsets_kept=False)
    read_all(stage, second, account)
    found = account.settle()
    claims = (found.claim("the second broker has every event once, in its partition, in the order of its key"),)
    return Outcome(claims, int(said["records"]), seconds)
