"""Spark reads the broker's segments, beside the broker: an archive of everything, and an audit of every offset."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.demo.account import Account
from holdfast.demo.commands import run_command
from holdfast.demo.events import TOPIC
from holdfast.demo.outcome import DemoClaim, NotThere, Outcome
from holdfast.demo.stage import Stage
from holdfast.extras import how_to_get
from holdfast.spark.session.small import SMALL_SIZE_MAX


def archive(stage: Stage) -> Outcome:
    """`holdfast archive` to Parquet; then the files are read with Arrow, and every event is looked for."""
    data = stage.broker().data
    check_spark(data)
    target = stage.folder / "archive"
    began = stage.clock.monotonic()
    said = run_command("archive", TOPIC, str(target), "--path", str(data))
    seconds = stage.clock.monotonic() - began
    account = Account(stage.ledger)
    _read_parquet(account, str(target))
    facts = {"files": f"{said['files']:,}", "size": f"{said['bytes'] / 1e6:,.1f} MB"}
    claims = (account.settle().claim("every acknowledged event is in the Parquet files, once"),)
    return Outcome(claims, said["rows"], seconds, facts)


def _read_parquet(account: Account, folder: str) -> None:
    from pyarrow import dataset

    for batch in _in_order(dataset.dataset(folder, format="parquet")):
        partitions, offsets = (batch.column(name).to_numpy().astype(np.int64) for name in ("partition", "offset"))
        account.add(batch.column("value").combine_chunks(), partitions, offsets)


def _in_order(files: Any) -> list[Any]:
    """Each partition by offset: a data set of files has no order of its own."""
    table = files.to_table(columns=["partition", "offset", "value"])
    return [table.sort_by([("partition", "ascending"), ("offset", "ascending")])]


def audit(stage: Stage) -> Outcome:
    """`holdfast audit --expect`: the list of acknowledged offsets against every byte that is stored."""
    broker = stage.broker()
    check_spark(broker.data)
    acked = stage.folder / "acked.txt"
    stage.ledger.write(acked)
    began = stage.clock.monotonic()
    where = ("--path", str(broker.data), "--bootstrap", broker.bootstrap)
    said = run_command("audit", TOPIC, *where, "--expect", str(acked), may_fail=True)
    seconds = stage.clock.monotonic() - began
    wanted = stage.ledger.acked
    found = f"{said['delivered_percent']} % of {said['offsets']:,}, {said['missing']:,} missing"
    listed = f"{said['expected'] - said['expected_missing']:,} of {wanted:,}"
    claims = (
        DemoClaim("every offset is there exactly once, and every byte is right", said["sound"], found),
        DemoClaim(
            "every offset on the producer's list is accounted for",
            said["expected"] == wanted and not said["expected_missing"],
            listed,
        ),
    )
    return Outcome(claims, said["offsets"], seconds, {"segments": f"{said['segments']:,}"})


def check_spark(data: Path) -> None:
    """Whether Spark can run here, if there is as much as that it is needed; otherwise what to do."""
    if sum(each.stat().st_size for each in (data / "objects").rglob("*") if each.is_file()) <= SMALL_SIZE_MAX:
        return
    if not shutil.which("java") and not os.environ.get("JAVA_HOME"):
        raise NotThere("a JDK, on which Spark runs,", "install one, 17 or newer, and run the demo again")
    if importlib.util.find_spec("pyspark") is None:
        raise NotThere("PySpark", how_to_get("spark"))
