"""The port of the metrics, where other machines may reach it: TLS, and only for those who may."""

from __future__ import annotations

import base64
import http.client
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker.wire import wait_for
from tests.support.broker_process import BrokerProcess
from typer.testing import CliRunner

from holdfast.cli.main import app
from holdfast.testing import BrokerDidNotStart, SecuredBroker, free_port, running_broker, secured_broker
from holdfast.testing.certificates import AuthorityFolder


@pytest.fixture(scope="module")
def metrics() -> int:
    """The port, chosen when it is used: one that was free at the beginning of a long run may be taken by now."""
    return free_port()


@pytest.fixture(scope="module")
def broker(metrics: int) -> Iterator[SecuredBroker]:
    users = {"scraper": ["DESCRIBE cluster"], "other": ["READ topic:*"]}
    with secured_broker(users, serve_metrics_listen=f"0.0.0.0:{metrics}") as broker:
        yield broker


def get(port: int, context: ssl.SSLContext | None, said: str | None = None, path: str = "/metrics") -> tuple[int, str]:
    """The status of an answer, and its text."""
    link = (
        http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        if context is None
        else http.client.HTTPSConnection("127.0.0.1", port, timeout=20, context=context)
    )
    link.request("GET", path, headers={"Authorization": said} if said else {})
    answer = link.getresponse()
    text = answer.read().decode()
    link.close()
    return answer.status, text


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def test_who_may_describe_the_cluster_reads_metrics(broker: SecuredBroker, metrics: int) -> None:
    """X8: 401 for strangers, 403 for those without the right, and both are in the audit log."""
    context = broker.ssl_context()
    status, text = get(metrics, context, basic("scraper", broker.password("scraper")))
    assert status == 200
    assert "holdfast_partition_log_end" in text
    for said in (None, basic("scraper", "hunter2-wrong"), basic("nobody", "hunter2-wrong"), "Bearer x"):
        for path in ("/metrics", "/", "/nothing"):
            status, text = get(metrics, context, said, path)
            assert (status, "holdfast_" in text) == (401, False)
    assert get(metrics, context, basic("other", broker.password("other")))[0] == 403
    assert [get(metrics, context, None, path) for path in ("/healthz", "/readyz")] == [
        (200, "alive\n"),
        (200, "ready\n"),
    ]
    assert get(metrics, context, basic("admin", broker.password("admin")), "/nothing")[0] == 404
    wait_for(lambda: any("User:other" in each and "DESCRIBE CLUSTER" in each for each in broker.said))
    wait_for(lambda: any("login failed" in each and "'nobody'" in each for each in broker.said))
    assert not any("hunter2" in each for each in broker.said)


def test_without_tls_nobody_is_answered(broker: SecuredBroker, metrics: int) -> None:
    """X8."""
    with pytest.raises((http.client.HTTPException, OSError)):
        get(metrics, None, basic("scraper", broker.password("scraper")))


def test_a_certificate_reads_metrics_also_after_a_renewal(tmp_path: Path) -> None:
    """X2, X3, X8: by the name in it."""
    files, port, kafka = AuthorityFolder(tmp_path / "ca"), free_port(), free_port()
    keystore = files.signed("broker")
    settings = [
        f"listeners=SSL://127.0.0.1:{kafka}",
        f"ssl.keystore.location={keystore}",
        f"ssl.truststore.location={files.certificate}",
        "ssl.client.auth=required",
        "authorizer.class.name=standard",
        "super.users=User:CN=scraper",
        f"serve.metrics_listen=SSL://127.0.0.1:{port}",
    ]
    with BrokerProcess(tmp_path / "data", port=kafka, settings=settings, sets_listeners=True) as broker:

        def context(trust: Path, name: str) -> ssl.SSLContext:
            made = ssl.create_default_context(cafile=str(trust))
            made.load_cert_chain(files.signed(name, name))
            return made

        assert get(port, context(files.certificate, "scraper"))[0] == 200
        assert get(port, context(files.certificate, "other"))[0] == 403
        with pytest.raises((http.client.HTTPException, OSError)):
            get(port, ssl.create_default_context(cafile=str(files.certificate)))
        other = AuthorityFolder(tmp_path / "other")
        other.signed("broker").rename(keystore)
        wait_for(lambda: any("were renewed" in each for each in broker.said))
        assert get(port, context(other.certificate, "scraper"))[0] == 200


@pytest.mark.parametrize("listen", ["0.0.0.0:0", "[::]:0", "PLAINTEXT://0.0.0.0:0", "NOBODY://127.0.0.1:0"])
def test_beyond_loopback_a_start_needs_a_protection(listen: str) -> None:
    """X8: topics and groups are named in labels."""
    with pytest.raises(BrokerDidNotStart, match=r"serve\.metrics_listen"), running_broker(serve_metrics_listen=listen):
        pass


def test_on_loopback_whoever_is_on_this_machine_reads_them() -> None:
    """X8: also beside a protected listener, unless that is named."""
    port = free_port()
    with secured_broker({}, serve_metrics_listen=f"127.0.0.1:{port}"):
        assert get(port, None)[0] == 200


def test_our_own_command_asks_them(broker: SecuredBroker, metrics: int, tmp_path: Path) -> None:
    """X11: `holdfast status --command-config`: with TLS and a user; who may not, or is not trusted, is told so."""
    told = {}
    for user in ("scraper", "other", "nobody", "no trust"):
        words = broker.properties(user if user in broker.users else "scraper")
        words["sasl.jaas.config"] = words["sasl.jaas.config"].replace(
            "scraper", "nobody" if user == "nobody" else "scraper"
        )
        if user == "no trust":
            words["ssl.truststore.location"] = str(AuthorityFolder(tmp_path / "ca").certificate)
        file = tmp_path / f"{user}.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in words.items()))
        told[user] = CliRunner().invoke(
            app, ["status", f"localhost:{metrics}", "--json", "--command-config", str(file)]
        )
        assert "password of" not in told[user].output
    assert [each.exit_code for each in told.values()] == [0, 1, 1, 1]
    assert '"well":true' in told["scraper"].stdout
    assert "no rule lets you DESCRIBE the CLUSTER" in told["other"].output
    assert "say who you are" in told["nobody"].output
    assert "nobody whom we trust has signed its certificate" in told["no trust"].output


def test_while_a_start_waits_for_its_store_strangers_are_told_nothing(tmp_path: Path) -> None:
    """X8, D4: the rules are with the store, so only those whom the settings name come through."""
    files, port, kafka = AuthorityFolder(tmp_path / "ca"), free_port(), free_port()
    settings = [
        f"listeners=SSL://127.0.0.1:{kafka}",
        f"ssl.keystore.location={files.signed('broker')}",
        f"ssl.truststore.location={files.certificate}",
        "ssl.client.auth=required",
        "authorizer.class.name=standard",
        "super.users=User:CN=operator",
        f"serve.metrics_listen=SSL://0.0.0.0:{port}",
        f"serve.store={tmp_path / 'store'}",
    ]

    def context(name: str) -> ssl.SSLContext:
        made = ssl.create_default_context(cafile=str(files.certificate))
        made.load_cert_chain(files.signed(name, name))
        return made

    with BrokerProcess(tmp_path / "data", port=kafka, settings=settings, sets_listeners=True) as broker:
        assert get(port, context("operator"))[0] == 200
        assert broker.stop() == 0
        (tmp_path / "store").rename(tmp_path / "away")
        broker.start()
        assert any("store away" in each for each in broker.said), broker.said
        status, text = get(port, context("operator"))
        assert (status, "holdfast_" in text) == (200, True)
        status, text = get(port, context("other"))
        assert (status, "holdfast_" in text) == (403, False)
        with pytest.raises((http.client.HTTPException, OSError)):
            get(port, ssl.create_default_context(cafile=str(files.certificate)))
        (tmp_path / "away").rename(tmp_path / "store")
        wait_for(lambda: "holdfast_partition_log_end" in get(port, context("operator"))[1])
        assert get(port, context("other"))[0] == 403
