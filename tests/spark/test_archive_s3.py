"""Archives in a bucket of a real S3 server: every format, from a bucket, and back into a topic."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.archived import catalog_of
from tests.spark.disturbed import DisturbedTarget
from tests.spark.sink_parts import read_committed
from tests.spark.stored import Stored, fill, records
from tests.support.broker_process import BrokerProcess
from tests.support.s3_server import S3Server, missing
from typer.testing import CliRunner

from holdfast.broker.topics import Topics
from holdfast.cli.archive.target import open_target
from holdfast.cli.main import app
from holdfast.client import Client
from holdfast.spark import table
from holdfast.spark.jobs.archive.archive import archive
from holdfast.spark.jobs.archive.merged import let_go, merge_small
from holdfast.spark.jobs.commit_log import Overtaken
from holdfast.testing import free_port


@pytest.fixture(scope="module")
def s3_server() -> Iterator[S3Server]:
    """One that Arrow's client can talk to, in the place of that which all tests share."""
    reason = missing()
    if reason and "Go is missing" in reason:
        pytest.skip(reason)
    with S3Server(keep_alive=False) as server:
        yield server


@pytest.fixture
def cluster(s3_store: tuple[str, dict[str, Any]], tmp_path: Path) -> Stored:
    """A topic of two segments in a bucket."""
    made = Stored(tmp_path / "remote", *s3_store)
    add(made, 0)
    return made


def add(cluster: Stored, first: int) -> None:
    async def work(topics: Topics) -> None:
        topic = topics.find("orders") or await topics.create("orders", 1, {})
        await fill(topic.partition(0), [records(first, 20), records(first + 20, 20)], flush_every=1)

    cluster.run(work)


def parquet(objects: Any, url: str, options: dict[str, Any], catalog: dict[str, str]) -> Any:
    names = [each.name for each in objects.list("")]
    return pa.concat_tables(
        [pq.read_table(io.BytesIO(objects.get(name))) for name in names if name.startswith("topic=")]
    )


def delta(objects: Any, url: str, options: dict[str, Any], catalog: dict[str, str]) -> Any:
    from deltalake import DeltaTable

    words = {"AWS_ENDPOINT_URL": options["endpoint"], "AWS_ALLOW_HTTP": "true", "AWS_REGION": options["region"]}
    keys = {"AWS_ACCESS_KEY_ID": options["access_key_id"], "AWS_SECRET_ACCESS_KEY": options["secret_access_key"]}
    return DeltaTable(url, storage_options=words | keys).to_pyarrow_table()


def iceberg(objects: Any, url: str, options: dict[str, Any], catalog: dict[str, str]) -> Any:
    from pyiceberg.catalog import load_catalog

    words = {"s3.endpoint": options["endpoint"], "s3.region": options["region"]}
    keys = {"s3.access-key-id": options["access_key_id"], "s3.secret-access-key": options["secret_access_key"]}
    properties = {"type": "sql", "warehouse": url, **catalog, **words, **keys}
    return load_catalog("holdfast", **properties).load_table("holdfast.records").scan().to_arrow()


@pytest.mark.parametrize("read", [parquet, delta, iceberg])
def test_from_a_bucket_into_a_bucket(spark: Any, cluster: Stored, s3_bucket: str, tmp_path: Path, read: Any) -> None:
    """P4: each run adds what is new, and of two at once one wins, as in a directory; small files are merged; one table
    over the archive and what is stored behind it has everything once."""
    url = f"s3://{s3_bucket}/archive"
    properties = {"uri": f"sqlite:///{tmp_path}/catalog.db"} if read is iceberg else {}

    def target(catalog: Any) -> Any:
        return open_target(read.__name__, url, spark, catalog, cluster.options, properties, "snappy")

    catalog = catalog_of(cluster)
    assert archive(spark, catalog, target(catalog)).rows() == 40
    assert archive(spark, catalog, target(catalog)).rows() == 0
    assert not list(target(catalog).store.open().list("_holdfast/staging/"))
    add(cluster, 40)
    newer = catalog_of(cluster)
    before = target(newer).progress()
    assert archive(spark, newer, target(newer)).rows() == 40
    late = target(newer)
    with pytest.raises(Overtaken):
        archive(spark, newer, DisturbedTarget(late, progress=lambda: before))
    rows = read(target(newer).store.open(), url, cluster.options, properties)
    assert sorted(rows.column("offset").to_pylist()) == list(range(80))
    add(cluster, 80)
    given = {
        f"{prefix}{name}": text for name, text in cluster.options.items() for prefix in ("store.", "archive.store.")
    }
    given |= {f"archive.catalog.{name}": text for name, text in properties.items()}
    if read is parquet:
        assert merge_small(target(newer), 1 << 20, 1_800_000_000_000) == 2
        let_go(target(newer), 0, 1_900_000_000_000)
        rows = read(target(newer).store.open(), url, cluster.options, properties)
        assert sorted(rows.column("offset").to_pylist()) == list(range(80))
    whole = table(spark, "orders", cluster.path, archive=url, options=given)
    assert sorted(row[0] for row in whole.select("offset").collect()) == list(range(120))


def test_back_from_a_bucket(spark: Any, cluster: Stored, s3_bucket: str, tmp_path: Path) -> None:
    """P4, P5: the commands archive into a bucket and replay from it, which stages there, too; a repeat does nothing."""
    url = f"s3://{s3_bucket}/archive"
    store = [word for each in cluster.options.items() for word in ("--store-option", "=".join(each))]
    target = [word for each in cluster.options.items() for word in ("--target-option", "=".join(each))]
    done = CliRunner().invoke(app, ["archive", "orders", url, "--path", cluster.path, *store, *target, "--json"])
    assert json.loads(done.stdout)["rows"] == 40, done.output
    with BrokerProcess(tmp_path / "broker") as broker:
        with Client(broker.address) as client:
            client.create_topics({"again": 1}, {"retention.ms": "-1"})
        again = ["replay", url, "--topic", "again", "--bootstrap", broker.address, *store, "--json"]
        plot = tmp_path / "replay.png"
        told = [json.loads(CliRunner().invoke(app, [*again, "--plot", str(plot)]).stdout) for _ in range(2)]
        assert [each["records"] for each in told] == [40, 0]
        assert plot.read_bytes().startswith(b"\x89PNG")
        found = read_committed(broker.address, "again", 1)
    assert [each.key() for each in found] == [b"k%d" % n for n in range(40)]
    assert not [each.name for each in cluster.objects.list("") if "_replay" in each.name]


def test_keys_that_are_wrong(cluster: Stored) -> None:
    """P4: a store that does not let us in says so in one sentence, before Spark is asked."""
    wrong = cluster.options | {"secret_access_key": "wrong"}
    store = [word for each in wrong.items() for word in ("--store-option", "=".join(each))]
    done = CliRunner().invoke(app, ["audit", "--path", cluster.path, *store])
    assert done.exit_code == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("holdfast: ")
    assert "SignatureDoesNotMatch" in done.stderr


def test_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """P4: without credentials the sentence is about them, and not about the address that was asked last."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    nobody = f"http://127.0.0.1:{free_port()}"
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", nobody)
    store = ["--store-option", f"endpoint={nobody}", "--store-option", "region=r", "--store-option", "retries=0"]
    done = CliRunner().invoke(app, ["audit", "--path", "s3://bucket", *store])
    assert done.exit_code == 1
    assert "there are no credentials: set AWS_ACCESS_KEY_ID" in done.stderr
    assert done.stderr.count("\n") == 1
