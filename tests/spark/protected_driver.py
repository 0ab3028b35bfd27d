"""A driver that reads and writes through a protected broker, and shows all that it can: plans, logs, events, errors.

Called with a folder and a file of options, in JSON: those of the way, and those with a wrong password.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.support.spark_session import settings

from holdfast.spark import register


def session_in(folder: Path) -> Any:
    from pyspark.sql import SparkSession

    events = folder / "events"
    events.mkdir()
    builder: Any = SparkSession.builder.master("local[2]").appName("protected")
    shown = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.compress": "false",
    }
    for name, value in {**settings(folder, jars=False), **shown}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("INFO")
    register(session)
    return session


def write(session: Any, options: dict[str, str]) -> None:
    frame = session.range(20).selectExpr("cast(concat('v', id) as binary) value")
    frame.write.format("holdfast").mode("append").options(**options).save()


def main() -> None:
    folder, file = map(Path, sys.argv[1:])
    data, topic, right, wrong = (json.loads(file.read_text())[name] for name in ("data", "topic", "right", "wrong"))
    session = session_in(folder)
    place = {"path": data, "topic": topic}
    write(session, {**place, **right})
    read = {"path": data, "subscribe": topic}
    frame = session.read.format("holdfast").options(**read, **right).load()
    frame.createOrReplaceTempView("seen")
    for mode in ("extended", "formatted", "cost", "codegen"):
        frame.explain(mode)
    session.sql("explain extended select count(*) from seen").show(truncate=False)
    rows = frame.count()
    stream = session.readStream.format("holdfast").options(**read, **right, startingOffsets="earliest").load()
    target = {"path": data, "topic": f"{topic}-copy", "checkpointLocation": str(folder / "checkpoint")}
    query = stream.select("value").writeStream.format("holdfast").options(**target, **right)
    running = query.trigger(availableNow=True).start()
    running.awaitTermination()
    running.explain(True)
    print(running.lastProgress, running.recentProgress)
    failures = []
    for fail in (
        lambda: write(session, {**place, **wrong}),
        lambda: session.read.format("holdfast").options(**read, **wrong).load().count(),
    ):
        try:
            fail()
        except Exception as failure:
            failures.append(str(failure))
            print(failure, repr(failure))
    session.stop()
    (folder / "done.json").write_text(json.dumps({"rows": rows, "failures": failures}))


if __name__ == "__main__":
    main()
