"""OAUTHBEARER: clients with tokens that somebody else has signed."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import jwt
import pytest
from confluent_kafka import Producer
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm
from tests.broker.wire import Wire
from tests.support.logged_in import LoggedIn, shake_hands

from holdfast.protocol.api import Key
from holdfast.security.logins.jwt import encode_bearer
from holdfast.security.secret import Secret

KEY = ec.generate_private_key(ec.SECP256R1())
OTHER = ec.generate_private_key(ec.SECP256R1())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoggedIn]:
    folder = tmp_path_factory.mktemp("oauth")
    keys = folder / "keys.json"
    keys.write_text(json.dumps({"keys": [{**json.loads(ECAlgorithm.to_jwk(KEY.public_key())), "kid": "one"}]}))
    made = LoggedIn(
        folder,
        "sasl.enabled.mechanisms=PLAIN,OAUTHBEARER",
        f"sasl.oauthbearer.jwks.endpoint.url=file://{keys}",
        "sasl.oauthbearer.expected.audience=holdfast",
        "listener.name.inside.oauthbearer.sasl.server.callback.handler.class="
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler",
    )
    with made.process:
        yield made


def _token(key: Any = KEY, lasts_s: float = 600, **changes: Any) -> str:
    now = time.time()
    claims = {"sub": "alice", "iat": now - 1, "exp": now + lasts_s, "aud": "holdfast", **changes}
    return jwt.encode(claims, key, "ES256", {"kid": "one"})


def _log_in(wire: Wire, token: str) -> Any:
    assert shake_hands(wire, "OAUTHBEARER") == 0
    return wire.ask(Key.SASL_AUTHENTICATE, 2, auth_bytes=encode_bearer(Secret(token)))


def test_a_real_client_shows_its_token(place: LoggedIn, topic: str) -> None:
    """X4: librdkafka."""
    conf: dict[str, Any] = {
        "bootstrap.servers": f"localhost:{place.sasl}",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": "OAUTHBEARER",
        "oauth_cb": lambda _: (_token(), time.time() + 600),
    }
    producer = Producer(conf)
    producer.produce(topic, b"x")
    assert producer.flush(30) == 0


def test_a_session_ends_with_its_token(place: LoggedIn) -> None:
    """X5: the time is told; a new token goes on, for the same user only."""
    with Wire(place.sasl) as wire, Wire(place.sasl) as other:
        assert 500 < _log_in(wire, _token(lasts_s=1.5)).session_lifetime_ms <= 1500
        assert _log_in(other, _token(lasts_s=1.5)).error_code == 0
        time.sleep(1.7)
        other.send(Key.METADATA, 9, topics=[])
        assert other.is_closed()
        assert _log_in(wire, _token()).error_code == 0
        assert wire.ask(Key.METADATA, 9, topics=[]).brokers
        assert _log_in(wire, _token(sub="bob")).error_code == 58


def test_a_wrong_token_opens_nothing(place: LoggedIn) -> None:
    """X4: another's key, another audience, too old, no token at all."""
    for token in (_token(OTHER), _token(aud="other"), _token(lasts_s=-100, iat=1), "x.y.z", ""):
        with Wire(place.sasl) as wire:
            assert _log_in(wire, token).error_code == 58
            assert wire.is_closed()
