"""Orders in a topic, read with Spark straight from the stored segments: as a table, by time, and as a stream.

Cell by cell in an editor that knows `# %%`, or as a whole: python examples/spark_orders.py
It starts a broker of its own on a free port, and needs a JDK and the Python packages of requirements/spark.txt and
requirements/dev.txt.
"""

# %% A broker with a thousand orders. When it stops it flushes: then all of them are in segments.
import json
import os
import sys
import tempfile
from pathlib import Path

from confluent_kafka import Producer
from pyspark.sql import SparkSession

from holdfast.spark import register
from holdfast.testing import RunningBroker

FOLDER = Path(tempfile.mkdtemp(prefix="holdfast-orders-"))
START_MS = 1_767_225_600_000  # 2026-01-01, one order each second.
COUNTRIES = ("CH", "DE", "FR", "IT")


def produce(broker: RunningBroker, first: int, last: int) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "compression.type": "lz4", "linger.ms": 20})
    for number in range(first, last):
        order = {"id": number, "country": COUNTRIES[number % 4], "amount": number % 100}
        when = START_MS + 1000 * number
        producer.produce("orders", json.dumps(order), str(number), partition=number % 2, timestamp=when)
    producer.flush()


broker = RunningBroker(FOLDER / "data", options=["--set", "num.partitions=2", "--set", "log.retention.ms=-1"])
broker.start()
produce(broker, 0, 1000)
broker.stop()

# %% A Spark on this machine that knows format("holdfast").
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
builder = SparkSession.builder.master("local[2]").appName("orders").config("spark.ui.enabled", "false")
builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
spark = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
register(spark)

# %% The topic as a table. The broker is not running: nobody asks it anything.
SCHEMA = "id long, country string, amount long"
topic = spark.read.format("holdfast").option("subscribe", "orders").load(str(FOLDER / "data"))
orders = topic.selectExpr(f"from_json(cast(value as string), '{SCHEMA}') as order", "timestamp").select("order.*")
by_country = orders.groupBy("country").sum("amount").orderBy("country")
by_country.show()
assert [row[1] for row in by_country.collect()] == [12000, 12250, 12500, 12750]

# %% One minute of it: only the offsets from its first record on, up to the first one after it, are read.
minute = {"startingTimestamp": "2026-01-01T00:05:00Z", "endingTimestamp": "2026-01-01T00:06:00Z"}
reader = spark.read.format("holdfast").option("subscribe", "orders").options(**minute)
count = reader.load(str(FOLDER / "data")).count()
print(f"{count} orders between five and six past midnight")
assert count == 60

# %% A stream, with the tail that the broker has not flushed yet, into Parquet files, each order once.
broker.start()
produce(broker, 1000, 1500)
stream = spark.readStream.format("holdfast").option("subscribe", "orders").option("startingOffsets", "earliest")
stream = stream.option("kafka.bootstrap.servers", broker.bootstrap).load(str(FOLDER / "data"))
sink = stream.selectExpr("partition", "offset", "cast(value as string) as value").writeStream
sink = sink.option("checkpointLocation", str(FOLDER / "checkpoint")).option("path", str(FOLDER / "archive"))
query = sink.format("parquet").trigger(availableNow=True).start()
query.awaitTermination()
archived = spark.read.parquet(str(FOLDER / "archive"))
print(f"{archived.count()} orders in the archive, {archived.distinct().count()} of them different")
assert archived.count() == archived.distinct().count() == 1500

# %% The end.
spark.stop()
broker.stop()
