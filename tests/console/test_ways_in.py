"""Ways into a protected console besides a user and a password: a bearer token, and a certificate."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from tests.console.asking import Asked, basic
from tests.support.every_way import new_token

from holdfast.testing import SecuredBroker, free_port, secured_broker
from holdfast.testing.certificates import AuthorityFolder

LOOKED_AT = ("/", "/topics", "/topics/orders", "/topics/payments", "/topics/orders/records", "/groups", "/wal")
SEEN = {"looker": [], "knower": ["orders"], "reader": ["orders"], "nobody": []}


@pytest.fixture(scope="module")
def guarded(secured: tuple[SecuredBroker, int]) -> Asked:
    broker, port = secured
    return Asked(port, broker.ssl_context())


def topics(asked: Asked, **said: str) -> list[str]:
    return [each["name"] for each in asked.page("/topics", **said)["rows"]]


def by_token(asked: Asked, token: str) -> tuple[int, Mapping[str, str]]:
    """What a login by the form is answered, and the cookie of it as headers."""
    ours = {"Origin": f"https://127.0.0.1:{asked.port}", "Content_Type": "application/json"}
    told = asked.ask("/login", "POST", json.dumps({"token": token}), **ours)
    return told.status, {"Cookie": told.headers.get("set-cookie", "").partition(";")[0]}


@pytest.mark.parametrize("user", SEEN)
def test_a_token_shows_what_its_user_may_see(guarded: Asked, user: str) -> None:
    """V2, X4: by `Authorization` and by the form; each page is answered as to who has logged in by a password."""
    token = new_token(3600, user)
    status, cookie = by_token(guarded, token)
    assert status == 200
    for said in ({"Authorization": f"Bearer {token}"}, cookie):
        assert guarded.page("/me", **said)["visitor"] == f"User:{user}"
        assert topics(guarded, **said) == SEEN[user]
        for path in LOOKED_AT:
            expected = guarded.ask(path, Authorization=basic(user, SecuredBroker.password(user))).status
            assert guarded.ask(path, **said).status == expected, path


def test_what_is_no_token_is_refused(guarded: Asked) -> None:
    """V2: neither one that is over, nor one that somebody else has signed."""
    good = new_token(3600, "reader")
    for token in (new_token(-60, "reader"), good[:-8] + "AAAAAAAA", "x", "\ud800", "a\r\nb", "." * 70_000):
        status, cookie = by_token(guarded, token)
        assert (status, cookie["Cookie"]) == (401, ""), token[:20]
    assert guarded.ask("/me", Authorization="Bearer x").status == 401


def test_a_login_ends_with_its_token_and_ends_streams(guarded: Asked) -> None:
    """V2, X5: also of a page that is followed."""
    status, cookie = by_token(guarded, new_token(4.0, "looker"))
    assert status == 200
    with guarded.follow("/wal", **cookie) as events:
        assert next(events).startswith("data:")
        assert "event: gone" in islice(events, 30)
    assert guarded.ask("/me", **cookie).status == 401


@pytest.fixture(scope="module")
def mutual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SecuredBroker, int, AuthorityFolder]]:
    """A broker whose console asks for certificates, and who signs them."""
    files, sasl, door, port = (
        AuthorityFolder(tmp_path_factory.mktemp("ca") / "ca"),
        free_port(),
        free_port(),
        free_port(),
    )
    settings = {
        "listeners": f"SASL_SSL://127.0.0.1:{sasl},MUTUAL://127.0.0.1:{door}",
        "listener_security_protocol_map": "SASL_SSL:SASL_SSL,MUTUAL:SSL",
        "ssl_truststore_location": files.certificate,
        "ssl_client_auth": "required",
        "ssl_principal_mapping_rules": "RULE:^CN=(.*?)(,.*)?$/$1/",
        "serve_console_listen": f"MUTUAL://127.0.0.1:{port}",
    }
    users = {"reader": ["READ topic:orders"], "looker": ["DESCRIBE cluster"]}
    with secured_broker(users, port=sasl, **settings) as broker:
        conf = broker.conf("admin") | certificate_words(files.signed("admin", "CN=admin"))
        admin = AdminClient(conf)
        for made in admin.create_topics([NewTopic("orders", 1), NewTopic("payments", 1)]).values():
            made.result(20)
        yield broker, port, files


def certificate_words(file: Path) -> dict[str, str]:
    return {"ssl.certificate.location": str(file), "ssl.key.location": str(file)}


def test_a_certificate_shows_what_its_user_may_see(mutual: tuple[SecuredBroker, int, AuthorityFolder]) -> None:
    """V2, X2: by the name in it, without a form; without one, or by another authority's, there is no page at all."""
    broker, port, files = mutual

    def asked(authority: AuthorityFolder, name: str) -> Asked:
        context = broker.ssl_context()
        context.load_cert_chain(authority.signed(name, f"CN={name},O=Tests"))
        return Asked(port, context)

    reader, looker, admin = (asked(files, name) for name in ("reader", "looker", "admin"))
    assert reader.page("/me") | {"visitor": "User:reader", "can_leave": False} == reader.page("/me")
    admin.wait_for("/topics", lambda page: len(page["rows"]) == 2)  # It is of a second ago.
    assert (topics(reader), topics(looker), topics(admin)) == (["orders"], [], ["orders", "payments"])
    statuses = {who: [who.ask(path).status for path in LOOKED_AT] for who in (reader, looker)}
    assert statuses[reader] == [403, 200, 200, 404, 200, 200, 403]
    assert statuses[looker] == [200, 200, 404, 404, 404, 200, 200]
    with looker.follow("/wal") as events:
        assert next(events).startswith("data:")
    for stranger in (Asked(port, broker.ssl_context()), asked(broker.authority, "reader")):
        with pytest.raises((http.client.HTTPException, ssl.SSLError, OSError)):
            stranger.ask("/topics")
