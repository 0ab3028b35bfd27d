"""Aggregates and joins over event time, with watermarks, over records that come late; and the same in merged order.

Cell by cell in an editor that knows `# %%`, or as a whole: python examples/spark_event_time.py
It starts a broker of its own on a free port, and needs a JDK and the Python packages of requirements/spark.txt and
requirements/dev.txt.
"""

# %% A broker with orders and their payments. Each twentieth order comes two minutes late, one of them ten minutes.
import json
import os
import sys
import tempfile
from pathlib import Path

from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, expr, from_json, window

from holdfast.spark.jobs.archive.parquet import parquet_store
from holdfast.spark.jobs.merge.merge import merge
from holdfast.spark.jobs.merge.source import open_sources
from holdfast.testing import RunningBroker

FOLDER = Path(tempfile.mkdtemp(prefix="holdfast-late-"))
START_MS = 1_767_225_600_000  # 2026-01-01, one order each second.
COUNT, LATE_S, TOO_LATE = 600, 120, 7  # Order 7 comes behind all others.


def sent_at(number: int) -> int:
    """When an order is sent, in seconds; its own time is its number."""
    return COUNT if number == TOO_LATE else number + (LATE_S if number % 20 == 0 else 0)


broker = RunningBroker(FOLDER / "data", options=["--set", "num.partitions=2", "--set", "log.retention.ms=-1"])
broker.start()
producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 20})
for number in sorted(range(COUNT), key=lambda each: (sent_at(each), each)):
    order = json.dumps({"id": number, "amount": number % 100})
    producer.produce("orders", order, str(number), partition=number % 2, timestamp=START_MS + 1000 * number)
    if number % 10:  # Each tenth order is never paid; all others half a minute later.
        when = START_MS + 1000 * (number + 30)
        producer.produce("payments", json.dumps({"id": number}), str(number), partition=0, timestamp=when)
producer.flush()
del producer
broker.stop()  # Which flushes: then all of them are in segments.

# %% A Spark on this machine.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
builder = SparkSession.builder.master("local[2]").appName("late").config("spark.ui.enabled", "false")
builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.sql.session.timeZone", "UTC")
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("ERROR")


def stream(topic: str, fields: str) -> DataFrame:
    """Records of a topic with their own times; two hundred for each micro-batch, as if they came now."""
    reader = spark.readStream.format("holdfast").option("subscribe", topic).option("startingOffsets", "earliest")
    frame = reader.option("maxOffsetsPerTrigger", "100").load(str(FOLDER / "data"))
    return frame.select(from_json(col("value").cast("string"), fields).alias("it"), "timestamp").select(
        "it.*", "timestamp"
    )


# %% Orders by the minute. The watermark waits three minutes: two minutes late counts, ten minutes late does not.
found: dict[str, int] = {}


def keep(batch: DataFrame, _: int) -> None:
    for row in batch.collect():
        found[row["minute"]] = row["count"]


minutes = stream("orders", "id long, amount long").withWatermark("timestamp", "3 minutes")
counts = minutes.groupBy(window("timestamp", "1 minute")).count()
counts = counts.select(expr("date_format(window.start, 'HH:mm')").alias("minute"), "count")
query = counts.writeStream.outputMode("update").foreachBatch(keep)
query = query.option("checkpointLocation", str(FOLDER / "counts")).trigger(availableNow=True).start()
query.awaitTermination()
dropped = sum(each["numRowsDroppedByWatermark"] for batch in query.recentProgress for each in batch["stateOperators"])
print(f"{sum(found.values())} orders in {len(found)} minutes, {dropped} came too late")
assert found == {f"00:{minute:02}": 59 if minute == 0 else 60 for minute in range(10)}
assert dropped == 1

# %% Orders with their payments, if those come within a minute of the order's time. Both sides forget what is older.
orders = stream("orders", "id long, amount long").withWatermark("timestamp", "15 minutes").alias("o")
payments = stream("payments", "id long").withWatermark("timestamp", "15 minutes").alias("p")
in_time = "o.id = p.id and p.timestamp >= o.timestamp and p.timestamp <= o.timestamp + interval 1 minute"
paid = orders.join(payments, expr(in_time)).selectExpr("o.id", "amount")
query = paid.writeStream.format("parquet").option("path", str(FOLDER / "paid"))
query = query.option("checkpointLocation", str(FOLDER / "joined")).trigger(availableNow=True).start()
query.awaitTermination()
rows = spark.read.parquet(str(FOLDER / "paid"))
print(f"{rows.count()} of {COUNT} orders were paid, {rows.selectExpr('count(distinct id)').first()[0]} different ones")
assert sorted(row["id"] for row in rows.collect()) == [number for number in range(COUNT) if number % 10]

# %% The same in merged order: both topics strictly by time, so that nothing is late, and every minute is whole.
merge(spark, open_sources(["orders", "payments"], str(FOLDER / "data")), parquet_store(str(FOLDER / "merged")))
merged = spark.read.parquet(*map(str, sorted((FOLDER / "merged").glob("*.parquet"))))
times = [row[0] for row in merged.coalesce(1).selectExpr("unix_millis(timestamp)").collect()]
assert times == sorted(times)
whole = merged.where("topic = 'orders'").groupBy(window("timestamp", "1 minute")).count()
print(f"{len(times)} records in one order; minutes of {sorted({row['count'] for row in whole.collect()})} orders")
assert {row["count"] for row in whole.collect()} == {60}

# %% The end.
spark.stop()
