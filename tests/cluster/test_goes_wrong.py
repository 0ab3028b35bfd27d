"""What an operator is told when something is wrong with a cluster: one sentence, which the guide has, too."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.cluster.test_many import PATIENT, many, start
from tests.cluster.test_pair import Cluster
from tests.support.broker_process import COMMAND, BrokerProcess

from holdfast.client import Client
from holdfast.io.envelope import seal
from holdfast.testing import free_port
from holdfast.testing.process import BrokerDidNotStart

ROOT = Path(__file__).parents[2]
LATER = 99


def rewritten(path: Path) -> bytes:
    """An object of the metadata as a later release would seal it."""
    found = re.match(rb'\{"holdfast":"([a-z]+)"', path.read_bytes())
    assert found is not None
    return seal(found[1].decode(), LATER, {})


def test_a_cluster_of_a_newer_release_is_refused_in_one_sentence(tmp_path: Path) -> None:
    """C11: a broker does not start, and says what to do; so does `cluster status`."""
    with many(tmp_path, *PATIENT) as cluster:
        start(cluster, 1)
        assert cluster.brokers[1].stop() == 0
        versions = [each for each in sorted((tmp_path / "store" / "meta").glob("*.json")) if each.stem.isdigit()]
        versions[-1].write_bytes(rewritten(versions[-1]))
        said = rf"has format version {LATER}; this release knows up to \d+: use a newer one"
        with pytest.raises(BrokerDidNotStart, match=said):
            cluster.made(1).start()
        told = subprocess.run([COMMAND, "cluster", "status", tmp_path / "store"], capture_output=True, text=True)
        assert told.returncode == 1
        assert re.search(said, told.stderr)
        assert "Traceback" not in told.stderr


def test_whoever_does_not_belong_to_a_cluster_is_refused_in_one_sentence(tmp_path: Path) -> None:
    """C1, C12: a number that is used twice, and a broker that would be alone on the store, also when all have left."""
    with many(tmp_path, *PATIENT) as cluster:
        start(cluster, 1)
        with pytest.raises(BrokerDidNotStart, match=r"broker 1 is in the cluster already, .*: give this one another"):
            cluster.made(1, name="elsewhere", port=free_port()).start()
        settings = (f"serve.store={tmp_path / 'store'}", "subscribe.listen=none")
        alone = BrokerProcess(tmp_path / "alone", settings=settings, options=["--take-over"])
        with pytest.raises(BrokerDidNotStart, match=r"is shared by brokers of a cluster .*cluster\.leaders=many"):
            alone.start()
        assert cluster.brokers[1].stop() == 0
        with pytest.raises(BrokerDidNotStart, match="each partition of this store has its own leader"):
            alone.start()


def until_seen(store: Path) -> None:
    """Wait until the broker says in its lease that it has seen the newest metadata."""
    newest = max(int(each.stem) for each in (store / "meta").glob("*.json") if each.stem.isdigit())
    deadline = time.monotonic() + 60
    while not any(f'"version":{newest}' in each.read_text() for each in (store / "brokers").glob("1-*.json")):
        assert time.monotonic() < deadline, "its lease is older than the metadata"
        time.sleep(0.05)


@pytest.mark.parametrize("leaders", ["one", "many"])
def test_brokers_end_when_their_store_is_put_back(tmp_path: Path, leaders: str) -> None:
    """C12, O4: an older state was put in the place of their store. Started again, they serve what it has."""
    store, older = tmp_path / "store", tmp_path / "older"
    serves = {"one": r"broker 1 leads \d+ partition", "many": "broker 1 leads with"}[leaders]
    with Cluster(tmp_path, str(store), (*PATIENT, f"cluster.leaders={leaders}")) as cluster:
        broker = cluster.start(1)
        cluster.until(1, serves)
        with Client(broker.address) as client:
            client.create_topics({"before": 1})
        broker.signal(signal.SIGSTOP)  # Nothing goes while it is copied.
        shutil.copytree(store, older)
        broker.signal(signal.SIGCONT)
        with Client(broker.address) as client:
            client.create_topics({"after": 1})
        until_seen(store)
        store.rename(tmp_path / "newer")
        older.rename(store)
        assert broker.wait(60) == 1
        assert any(f"{store} was put back to an older state" in each for each in broker.said), broker.said[-5:]
        again = cluster.start(1)
        cluster.until(1, serves)
        with Client(again.address) as client:
            assert {"before", "after"} & client.metadata().topics.keys() == {"before"}


def test_the_guide_has_the_words_that_are_said() -> None:
    """C12: whoever looks for a sentence finds it there."""
    guide = (ROOT / "docs" / "guides" / "running.md").read_text()
    section = guide.partition("### When it goes wrong")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)
    source = "\n".join(each.read_text() for each in sorted((ROOT / "src" / "holdfast").rglob("*.py")))
    assert len(rows) > 5
    for sentence in rows:
        parts = [part.strip() for part in re.split(r"\d+|…", sentence)]
        assert all(part in source for part in parts), f"nobody says: {sentence}"
