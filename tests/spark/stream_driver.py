"""A driver that may be killed: a stream from one topic's segments to another topic.

python -m tests.spark.stream_driver FOLDER BOOTSTRAP OFFSETS_PER_TRIGGER
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.spark_session import start


def main(folder: Path, bootstrap: str, per_trigger: str) -> None:
    session = start(folder / "spark", jars=False)
    source = session.readStream.format("holdfast").option("subscribe", "source").option("startingOffsets", "earliest")
    rows = source.option("maxOffsetsPerTrigger", per_trigger).load(str(folder / "store"))
    options = {
        "kafka.bootstrap.servers": bootstrap,
        "topic": "target",
        "staging": str(folder / "staging"),
        "checkpointLocation": str(folder / "checkpoint"),
    }
    writer = rows.selectExpr("key", "concat(partition, '-', offset) value").writeStream.format("holdfast")
    query = writer.options(**options).trigger(availableNow=True).start()
    query.awaitTermination()
    session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
