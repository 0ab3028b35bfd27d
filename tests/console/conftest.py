"""One broker with data, and one with users, for all tests of the console."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.console.asking import Asked, Place, basic
from tests.console.seeding import open_transaction, seed
from tests.support.every_way import write_keys

from holdfast.testing import SecuredBroker, free_port, running_broker, secured_broker

USERS = {
    "nobody": [],
    "looker": ["DESCRIBE cluster"],
    "reader": ["READ topic:orders", "DESCRIBE group:billing"],
    "knower": ["DESCRIBE topic:orders"],
    "changer": [
        *("CREATE cluster", "DELETE topic:c-*", "ALTER_CONFIGS topic:c-*", "WRITE topic:c-*", "DELETE group:idle"),
        *("WRITE transactional_id:refunds-1", "DESCRIBE topic:c-*"),
    ],
}


@pytest.fixture(scope="session")
def place() -> Iterator[Place]:
    """A broker with something to show. The producer whose transaction is open lives as long as it."""
    port = free_port()
    with running_broker(
        serve_console_listen=f"127.0.0.1:{port}", serve_metrics_listen=f"127.0.0.1:{port + 1}"
    ) as broker:
        conf = {"bootstrap.servers": broker.bootstrap}
        opened = seed(conf)
        asked = Asked(port)
        asked.wait_for("/topics/orders/0", lambda page: page["segments"])
        open_transaction(conf, opened)
        yield Place(broker, port, conf, asked, opened)


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SecuredBroker, int]]:
    port, keys = free_port(), tmp_path_factory.mktemp("issuer") / "keys.json"
    write_keys(keys)
    settings = {
        "serve_console_listen": f"127.0.0.1:{port}",
        "console_write": "true",
        "sasl_enabled_mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
        "sasl_oauthbearer_jwks_endpoint_url": f"file://{keys}",
    }
    with secured_broker(USERS, **settings) as broker:
        seed(broker.conf("admin"))
        said = {"Authorization": basic("admin", broker.password("admin"))}
        Asked(port, broker.ssl_context()).wait_for("/topics/orders/0", lambda page: page["segments"], **said)
        yield broker, port
