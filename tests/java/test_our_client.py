"""Our own client against Apache Kafka, protected."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.apache import ApacheKafka
from tests.support.every_way import MARK, MODULES, USER, client_of, jaas, round_trip, stays_open

from holdfast.client import Client
from holdfast.client.errors import LoginRefused
from holdfast.security.logins.scram import MECHANISMS
from holdfast.security.secret import Secret
from holdfast.testing.certificates import AuthorityFolder
from holdfast.testing.ports import free_port

SCRAM = list(MECHANISMS)


@pytest.mark.usefixtures("needs_java")
def test_the_client_speaks_them_with_apache_kafka(tmp_path: Path) -> None:
    """X11: TLS with a certificate of our own, and logins with PLAIN and SCRAM over it."""
    authority = AuthorityFolder(tmp_path / "ca")
    broker, own = authority.signed("broker", "localhost"), authority.signed("client", "Reader")
    kafka = ApacheKafka(tmp_path / "kafka")
    mutual, sasl, controller = free_port(), free_port(), free_port()
    doors = f"PLAINTEXT://{kafka.bootstrap},MUTUAL://127.0.0.1:{mutual},SASL_SSL://127.0.0.1:{sasl}"
    kafka.more += (
        f"listeners={doors},CONTROLLER://127.0.0.1:{controller}",
        f"advertised.listeners={doors}",
        f"controller.quorum.voters=0@127.0.0.1:{controller}",
        "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,MUTUAL:SSL,SASL_SSL:SASL_SSL",
        f"ssl.keystore.type=PEM\nssl.keystore.location={broker}",
        f"ssl.truststore.type=PEM\nssl.truststore.location={authority.certificate}",
        "listener.name.mutual.ssl.client.auth=required",
        "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "listener.name.sasl_ssl.connections.max.reauth.ms=2000",
        f'listener.name.sasl_ssl.plain.sasl.jaas.config={MODULES["PLAIN"]} required user_{USER}="pass";',
        *(f"listener.name.sasl_ssl.{each.lower()}.sasl.jaas.config={MODULES[each]} required;" for each in SCRAM),
    )
    trust = {"ssl.truststore.location": str(authority.certificate)}
    with kafka:
        with Client(kafka.bootstrap) as client:
            for each in SCRAM:
                client.set_user(USER, each, Secret("pass"))
            assert [each.mechanism for each in client.users()] == SCRAM
        at = {"bootstrap.servers": f"localhost:{mutual}", "security.protocol": "SSL"}
        with client_of({**at, **trust, "ssl.keystore.location": str(own)}) as client:
            round_trip(client, "mutual")
        for mechanism in ("PLAIN", *SCRAM):
            at = {"bootstrap.servers": f"localhost:{sasl}", "security.protocol": "SASL_SSL"}
            login = {"sasl.mechanism": mechanism, "sasl.jaas.config": jaas(mechanism, USER, "pass")}
            with client_of({**at, **trust, **login}) as client:
                round_trip(client, mechanism)
                assert stays_open(client, 5.0)
            wrong = {"sasl.mechanism": mechanism, "sasl.jaas.config": jaas(mechanism, USER, MARK)}
            with client_of({**at, **trust, **wrong}) as client, pytest.raises(LoginRefused):
                client.metadata([])
