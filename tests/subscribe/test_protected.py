"""A subscription with TLS, a certificate of its own, and who it is with each call."""

from __future__ import annotations

import asyncio
import logging
import subprocess
from base64 import b64decode
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from tests.log.log_world import in_loop
from tests.subscribe.place import Place, place_with, write
from tests.support.broker_process import COMMAND
from tests.support.every_way import (
    KEY_PASSWORD,
    MARK,
    MODULES,
    PASSWORD,
    USER,
    EveryWay,
    jaas,
    round_trip,
    write_properties,
)

from holdfast.client import SecurityOptions
from holdfast.client.errors import TlsFailed
from holdfast.errors import Rejected
from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.security.errors import BadSetting
from holdfast.subscribe import NOW, subscribe
from holdfast.subscribe.server.service import Service
from holdfast.testing import free_port, secured_broker
from holdfast.testing.certificates import Authority

AUTHORITY = Authority()
SERVER, OWN = AUTHORITY.issue("localhost"), AUTHORITY.issue("me")
TLS = {"security.protocol": "SSL", "ssl.truststore.certificates": AUTHORITY.trust_pem}
CERTIFICATE = {
    "ssl.keystore.key": OWN.key_pem(KEY_PASSWORD),
    "ssl.keystore.certificate.chain": OWN.chain_pem,
    "ssl.key.password": KEY_PASSWORD,
}


def login(mechanism: str, password: str = PASSWORD) -> dict[str, str]:
    return {"sasl.mechanism": mechanism, "sasl.jaas.config": jaas(mechanism, USER, password)}


@dataclass
class Door(grpc.aio.ServerInterceptor):  # type: ignore[misc]
    """Lets in whom it knows, as `The other ports` has it."""

    known: Callable[[str], bool]
    shown: list[str] = field(default_factory=list)

    async def intercept_service(self, continuation: Any, details: Any) -> Any:
        shown = dict(details.invocation_metadata).get("authorization", "")
        self.shown.append(shown)
        if self.known(shown):
            return await continuation(details)

        async def refuse(_: Any, context: Any) -> None:
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "who you are is not proven")

        return grpc.unary_stream_rpc_method_handler(refuse)


@asynccontextmanager
async def guarded(place: Place, door: Door, *, tls: bool = True, wants_certificate: bool = False) -> AsyncIterator[int]:
    """The place's service behind a door."""
    server = grpc.aio.server(interceptors=[door])
    server.add_generic_rpc_handlers((Service(place.site).handler(),))
    if tls:
        pair = [(SERVER.key_pem().encode(), SERVER.chain_pem.encode())]
        trust = AUTHORITY.trust_pem.encode() if wants_certificate else None
        credentials = grpc.ssl_server_credentials(pair, trust, wants_certificate)
        port = server.add_secure_port("127.0.0.1:0", credentials)
    else:
        port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield port
    finally:
        await server.stop(None)


async def values(place: Place, address: str, words: dict[str, str]) -> list[bytes | None]:
    security = SecurityOptions.parse(words)
    asked = {"since": 0, "until": NOW, "objects": place.objects, "security": security}
    async with asyncio.timeout(60), subscribe(address, "t", **asked) as subscription:
        assert MARK not in repr(vars(subscription)) + str(subscription.cursor)
        return [event.value async for event in subscription]


async def prepared(place: Place) -> None:
    [log] = await place.topic("t")
    await write(log, [1, 2, 3])


@in_loop
async def test_who_we_are_goes_with_each_call(tmp_path: Path) -> None:
    """X11: Basic for users of PLAIN and SCRAM, Bearer for tokens, TLS with and without a certificate of ours."""
    token = tmp_path / "token"
    token.write_text(f"{MARK}.token\n")
    bearer = {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": f"{MODULES['OAUTHBEARER']} required;",
        "sasl.oauthbearer.token.endpoint.url": f"file://{token}",
    }
    async with place_with(tmp_path) as place:
        await prepared(place)
        door = Door(lambda _: True)
        async with guarded(place, door) as port:
            for words in (
                TLS,
                *(TLS | {"security.protocol": "SASL_SSL"} | login(each) for each in ("PLAIN", "SCRAM-SHA-512")),
            ):
                assert len(await values(place, f"localhost:{port}", words)) == 3
            assert len(await values(place, f"127.0.0.1:{port}", TLS | {"security.protocol": "SASL_SSL"} | bearer)) == 3
        async with guarded(place, door, wants_certificate=True) as port:
            assert len(await values(place, f"localhost:{port}", TLS | CERTIFICATE)) == 3
        async with guarded(place, door, tls=False) as port:
            words = {"security.protocol": "SASL_PLAINTEXT"} | login("SCRAM-SHA-256")
            assert len(await values(place, f"127.0.0.1:{port}", words)) == 3
    nobody, *named, token_shown, certificate, last = door.shown
    assert (nobody, certificate, token_shown) == ("", "", f"Bearer {MARK}.token")
    for each in (*named, last):
        assert b64decode(each.removeprefix("Basic ")).decode() == f"{USER}:{PASSWORD}"


@in_loop
async def test_who_is_not_let_in_hears_why_at_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """X11: a wrong password, authority or name, and no certificate: one sentence, no endless tries, no secret."""
    caplog.set_level(logging.DEBUG)
    other = TLS | {"ssl.truststore.certificates": Authority("other").trust_pem}
    async with place_with(tmp_path) as place:
        await prepared(place)
        async with guarded(place, Door(lambda _: False)) as port:
            here = f"localhost:{port}"
            cases: list[tuple[type[Rejected], str, str, dict[str, str]]] = [
                (Rejected, "who you are is not proven", here, TLS | {"security.protocol": "SASL_SSL"} | login("PLAIN")),
                (TlsFailed, "name its authority's certificate", here, other),
                (TlsFailed, "its certificate is not for 127.1", f"127.1:{port}", TLS),
                (BadSetting, "always checks the name", here, TLS | {"ssl.endpoint.identification.algorithm": ""}),
                (BadSetting, "takes what gRPC has", here, TLS | {"ssl.enabled.protocols": "TLSv1.3"}),
                (
                    BadSetting,
                    "sent the password itself",
                    f"broker.example:{port}",
                    {"security.protocol": "SASL_PLAINTEXT"} | login("SCRAM-SHA-256"),
                ),
            ]
            for kind, told, address, words in cases:
                with pytest.raises(kind, match=told) as refused:
                    await values(place, address, words)
                assert MARK not in str(refused.value)
    assert MARK not in caplog.text


@in_loop
async def test_a_server_that_wants_a_certificate_is_guessed(tmp_path: Path) -> None:
    """X11: it only closes, as one does that stops: it is tried again, and what it may be is told."""
    async with place_with(tmp_path) as place:
        await prepared(place)
        async with guarded(place, Door(lambda _: True), wants_certificate=True) as port:
            subscription = subscribe(f"localhost:{port}", "t", security=SecurityOptions.parse(TLS))
            reading = asyncio.ensure_future(anext(aiter(subscription), None))
            async with asyncio.timeout(60):
                while "name yours in ssl.keystore.location" not in subscription.stats.last_error:
                    await asyncio.sleep(0.01)
            await subscription.close()
            await reading


def test_our_client_meets_our_port(tmp_path: Path) -> None:
    """X8, X11: `holdfast subscribe --command-config`; a wrong password ends it at once, and nothing shows it."""
    port = free_port()
    with secured_broker({"alice": ["READ topic:orders"]}, subscribe_listen=f"127.0.0.1:{port}") as broker:
        files = {user: tmp_path / f"{user}.properties" for user in ("admin", "alice", "wrong")}
        for user, file in files.items():
            words = broker.properties("alice" if user == "wrong" else user)
            if user == "wrong":
                words["sasl.jaas.config"] = words["sasl.jaas.config"].replace("password of alice", MARK)
            write_properties(file, words)

        def holdfast(*arguments: str, user: str, said: str = "", code: int = 0) -> str:
            command = [str(COMMAND), *arguments, "--command-config", str(files[user])]
            done = subprocess.run(command, input=said, capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode == code, done.stderr
            assert not {MARK, broker.password(user)} & {*done.stdout.split("\t"), *done.stderr.split("'")}
            assert MARK not in done.stdout + done.stderr
            return done.stdout + done.stderr

        holdfast("produce", "orders", user="admin", said="one\ntwo\n")
        holdfast("topic", "create", "hidden", user="admin")
        asked = ("--since", "earliest", "--address", f"localhost:{port}")
        assert "2 events" in holdfast("subscribe", "orders", *asked, user="alice")
        assert "the server does not know who you are" in holdfast("subscribe", "orders", *asked, user="wrong", code=1)
        assert "hidden" in holdfast("subscribe", "hidden", *asked, user="alice", code=1)


def test_a_certificate_is_enough_for_our_port(tmp_path: Path) -> None:
    """X8, X11: the port has the protection of a listener that wants certificates."""
    port = free_port()
    with EveryWay(tmp_path, f"subscribe.listen=MUTUAL://127.0.0.1:{port}").running() as place:
        with place.client("PLAINTEXT") as client:
            round_trip(client, "t")
        assert asyncio.run(_followed(f"localhost:{port}", place.words("SSL certificate"), 10)) == 10


def test_every_mechanism_is_taken_by_our_port_and_sessions_go_on(tmp_path: Path) -> None:
    """X5, X8, X11: a token that ends, ends the stream; it goes on from its cursor with the one that is there then."""
    port = free_port()
    listen, skew = f"subscribe.listen=SASL_SSL://127.0.0.1:{port}", "sasl.oauthbearer.clock.skew.seconds=0"
    with EveryWay(tmp_path, listen, skew).running() as place:
        with place.client("PLAINTEXT") as client:
            round_trip(client, "t")
        for mechanism in MODULES:
            assert asyncio.run(_followed(f"localhost:{port}", place.words(f"SASL_SSL {mechanism}"), 10)) == 10
        assert asyncio.run(_outlives(place, f"localhost:{port}")) >= 2


async def _followed(address: str, words: Mapping[str, str], count: int) -> int:
    """How many events come, at most `count`."""
    async with asyncio.timeout(60), subscribe(address, "t", since=0, security=_security(words)) as subscription:
        found = 0
        async for _ in subscription:
            found += 1
            if found == count:
                break
        return found


async def _outlives(place: EveryWay, address: str) -> int:
    """How often a subscription went on while its tokens ended."""
    place.give_token(2)
    subscription = subscribe(address, "t", security=_security(place.words("SASL_SSL OAUTHBEARER")))
    reading = asyncio.ensure_future(anext(aiter(subscription)))
    async with asyncio.timeout(60):
        for errors in (1, 2):
            while subscription.stats.errors < errors:
                await asyncio.sleep(0.1)
                place.give_token(2)
        await asyncio.to_thread(_produce, place)
        assert (await reading).value == b"late"
    await subscription.close()
    assert "the session is over" in subscription.stats.last_error
    return subscription.stats.errors


def _produce(place: EveryWay) -> None:
    with place.client("PLAINTEXT") as client:
        client.produce({("t", 0): build([Record(None, b"late", 1)])})


def _security(words: Mapping[str, str]) -> SecurityOptions:
    return SecurityOptions.parse({word: text for word, text in words.items() if word != "bootstrap.servers"})
