"""How a subscription is protected: Kafka's words for clients, as gRPC takes them.

TLS with the same trust and certificate, and who we are with each call: `Basic` for users of PLAIN and SCRAM, `Bearer`
for tokens. What gRPC cannot do is refused, with what to do instead.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from pathlib import Path
from typing import Any, Final

import grpc
import grpc.aio

from holdfast.client.protection.secure import CHECK_NAME, Protection, SecurityOptions
from holdfast.client.protection.tls import failure_of, protected
from holdfast.io.address import parse_address
from holdfast.security.errors import BadSetting
from holdfast.security.tls import TlsSettings
from holdfast.subscribe.errors import ServerGone

_OPTIONS: Final = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.enable_retries", 0),  # Only we know from which cursor.
    ("grpc.use_local_subchannel_pool", 1),  # So that a new try makes a new connection at once.
    ("grpc.initial_reconnect_backoff_ms", 100),
)
_PROBE_S = 5.0


def channel_to(address: str, protection: Protection) -> Any:
    """A channel of gRPC. Raises BadSetting."""
    if protection.tls is None:
        return grpc.aio.insecure_channel(address, options=_OPTIONS)
    _check(protection)
    trust = protection.material.trust or _system_trust()
    whole = protection.material.certificate
    key = _open_key(whole, protection.tls) if whole else None
    made = grpc.ssl_channel_credentials(trust, key, whole or None)
    return grpc.aio.secure_channel(address, made, options=_OPTIONS)


def _check(protection: Protection) -> None:
    default = TlsSettings()
    assert protection.tls is not None
    if not protection.checks_name:
        raise BadSetting(CHECK_NAME, "a subscription always checks the name: use one that is in the certificate")
    if (protection.tls.protocols, protection.tls.ciphers) != (default.protocols, default.ciphers):
        raise BadSetting(
            "ssl.enabled.protocols", "a subscription takes what gRPC has: remove it, and ssl.cipher.suites"
        )


def _system_trust() -> bytes | None:
    """The system's, as for other clients; gRPC would take its own."""
    path = ssl.get_default_verify_paths().cafile
    return Path(path).read_bytes() if path else None


def _open_key(pem: bytes, tls: TlsSettings) -> bytes:
    """gRPC knows no passwords of keys."""
    if not tls.key_password:
        return pem
    from cryptography.hazmat.primitives import serialization

    key = serialization.load_pem_private_key(pem, tls.key_password.reveal().encode())
    plain, form = serialization.NoEncryption(), serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, plain)


def prepared(address: str, security: SecurityOptions) -> tuple[Protection, tuple[tuple[str, str], ...]]:
    """What a call needs: its protection, and what says who we are. Blocks. Raises BadSetting."""
    protection = security.open()
    said = protection.authorization(parse_address(address).host)
    return protection, () if said is None else (("authorization", said),)


def check_tls(address: str, protection: Protection) -> None:
    """Why there is no TLS with a server, if that is what is wrong: gRPC only says that it is not there. Blocks."""
    where = parse_address(address)
    context = protection.context()
    if context is None:
        return
    context.set_alpn_protocols(["h2"])
    with contextlib.suppress(TimeoutError, ConnectionError, socket.gaierror):
        opened = protected(socket.create_connection(where, _PROBE_S), where, context)
        try:
            is_closed = not opened.recv(1)  # TLS 1.3 refuses a client behind the handshake; gRPC does not say why.
        except ssl.SSLError as failure:
            raise failure_of(where, failure) from None
        finally:
            opened.close()
        if is_closed:
            why = "it closed the connection behind the TLS handshake; if it wants a certificate, name yours in"
            raise ServerGone(address, f"{why} ssl.keystore.location")
