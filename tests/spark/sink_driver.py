"""A driver that may be killed: files of JSON lines, one a batch, to a topic.

python -m tests.spark.sink_driver FOLDER BOOTSTRAP TOPIC
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.spark_session import start


def main(folder: Path, bootstrap: str, topic: str) -> None:
    session = start(folder / "spark", jars=False)
    source = session.readStream.schema("key string, value string").option("maxFilesPerTrigger", 1)
    options = {
        "kafka.bootstrap.servers": bootstrap,
        "topic": topic,
        "staging": str(folder / "staging"),
        "checkpointLocation": str(folder / "checkpoint"),
    }
    writer = source.json(str(folder / "input")).writeStream.format("holdfast").options(**options)
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
