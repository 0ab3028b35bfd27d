"""A driver to be killed: streams a topic into Parquet files until it has read as much as it was told.

python stream_driver.py FOLDER STORE TOPIC OFFSETS_PER_TRIGGER OFFSETS
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def main(folder: Path, store: str, topic: str, per_trigger: str, total: int) -> None:
    from tests.support.spark_session import start

    spark = start(folder / "spark", jars=False)
    source = spark.readStream.format("holdfast").option("subscribe", topic).option("startingOffsets", "earliest")
    frame = source.option("maxOffsetsPerTrigger", per_trigger).schema("partition int, offset long").load(store)
    sink = frame.writeStream.option("checkpointLocation", str(folder / "checkpoint"))
    query = sink.format("parquet").option("path", str(folder / "rows")).start()
    while not is_done(folder, total):
        if query.awaitTermination(1):
            break
    query.stop()


def is_done(folder: Path, total: int) -> bool:
    """Whether a committed batch has ended where everything does."""
    commits = numbers(folder / "checkpoint" / "commits")
    return bool(commits) and sum(offsets(folder, max(commits)).values()) == total


def offsets(folder: Path, batch: int) -> dict[str, int]:
    """Where a batch ends, for each partition."""
    text = (folder / "checkpoint" / "offsets" / str(batch)).read_text().splitlines()[-1]
    found: dict[str, Any] = json.loads(text)
    return {number: each["offset"] for topic in found.values() for number, each in topic["partitions"].items()}


def numbers(folder: Path) -> list[int]:
    return [int(each.name) for each in folder.iterdir() if each.name.isdecimal()] if folder.exists() else []


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]))
