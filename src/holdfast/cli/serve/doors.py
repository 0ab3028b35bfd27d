"""Which protection the ports beside Kafka's have: that of a listener, by name, or of the one that fits.

    subscribe.listen=auto                     as the first listener; none beside it if it is plain and others are not
    subscribe.listen=127.0.0.1:9094           as the first listener that is protected, if there is one
    subscribe.listen=OUTSIDE://0.0.0.0:9094   as the listener OUTSIDE

Metrics on loopback are for whoever is on this machine; beyond it only with TLS, for those who say who they are. The
console shows records, too: where anything is protected, so is it, also on loopback.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import NamedTuple

from holdfast.broker.net.listener import OpenListener
from holdfast.broker.settings import BrokerSettings
from holdfast.errors import Rejected
from holdfast.extras import how_to_get
from holdfast.io.address import is_loopback, parse_address
from holdfast.security.protocol import SecurityProtocol
from holdfast.security.tls import TlsSettings

SUBSCRIBE = "subscribe.listen"
METRICS = "serve.metrics_listen"
CONSOLE = "serve.console_listen"
NO_ARROW = f"it needs pyarrow: {how_to_get('arrow')}"
_SIGN = "://"
_USUAL = TlsSettings()


class Door(NamedTuple):
    """A port, and the listener that it is protected as; None: it is open."""

    listen: str  # HOST:PORT, or auto.
    listener: OpenListener | None
    wants_certificates: bool = False


class NoDoor(NamedTuple):
    """No port, and why."""

    why: str


def subscribers_door(listen: str, listeners: Sequence[OpenListener], settings: BrokerSettings) -> Door | NoDoor:
    """Raises Rejected if the port that is asked for cannot be had."""
    if listen in ("", "none"):
        return NoDoor("")
    if find_spec("pyarrow") is None:
        if listen == "auto":
            return NoDoor(f"no port for subscribers: {NO_ARROW}")
        raise Rejected(f"{SUBSCRIBE}: {NO_ARROW}")
    address, chosen = _chosen(SUBSCRIBE, listen, listeners)
    protected = [each for each in listeners if each.protocol is not SecurityProtocol.PLAINTEXT]
    if listen == "auto":
        chosen = listeners[0]
        if protected and chosen not in protected:
            return NoDoor(
                f"no port for subscribers: beside {chosen.name} it would be unprotected, and {protected[0].name} is "
                f"not; {SUBSCRIBE}={protected[0].name}{_SIGN}HOST:PORT opens one like that"
            )
    chosen = chosen or (protected or listeners)[0]
    if chosen.tls is None:
        return Door(address, chosen)
    tls = TlsSettings.parse(settings.words_of(chosen.name))
    if {*tls.protocols, *tls.ciphers} != {*_USUAL.protocols, *_USUAL.ciphers}:
        why = f"gRPC cannot be held to ssl.enabled.protocols or ssl.cipher.suites of the listener {chosen.name}"
        if listen == "auto":
            return NoDoor(f"no port for subscribers: {why}")
        raise Rejected(f"{SUBSCRIBE}: {why}: choose another listener, or none")
    # gRPC asks for a certificate only if it insists on one.
    asked = tls.client_auth == "required" or (tls.client_auth == "requested" and chosen.checks is None)
    return Door(address, chosen, wants_certificates=asked)


def metrics_door(listen: str, listeners: Sequence[OpenListener], settings: BrokerSettings) -> Door:
    """Raises Rejected if other machines would read them without saying who they are."""
    address, chosen = _chosen(METRICS, listen, listeners)
    host = parse_address(address).host
    if chosen is None and is_loopback(host):
        return Door(address, None)
    if chosen is not None and is_loopback(host):
        return Door(address, chosen)
    fitting = [each for each in listeners if chosen in (None, each) and _is_private(each, settings)]
    if not fitting:
        raise Rejected(
            f"{METRICS}: other machines reach {host}, and metrics name topics and groups: listen on 127.0.0.1, or have "
            f"a listener with SASL_SSL, or with SSL and ssl.client.auth=required, and write its NAME{_SIGN}{address}"
        )
    return Door(address, fitting[0])


def console_door(
    listen: str, listeners: Sequence[OpenListener], settings: BrokerSettings, *, allow_anonymous: bool
) -> Door:
    """Raises Rejected if other machines would come in without saying who they are, and nobody has allowed that."""
    address, chosen = _chosen(CONSOLE, listen, listeners)
    is_here = is_loopback(parse_address(address).host)
    private = [each for each in listeners if _is_private(each, settings)]
    protected = [each for each in listeners if each.protocol is not SecurityProtocol.PLAINTEXT]
    if chosen is None:
        if protected or settings.has_authorizer:
            chosen = (private or protected or list(listeners))[0]
        elif is_here or allow_anonymous:
            return Door(address, None)
    if chosen is not None and (is_here or chosen in private or allow_anonymous):
        return Door(address, chosen)
    raise Rejected(
        f"{CONSOLE}: other machines reach {address}, and the console shows records: listen on 127.0.0.1, or have a "
        f"listener with SASL_SSL, or with SSL and ssl.client.auth=required, and write its NAME{_SIGN}{address}; "
        "console.allow_anonymous=true lets everybody in who can reach it"
    )


def _chosen(setting: str, listen: str, listeners: Sequence[OpenListener]) -> tuple[str, OpenListener | None]:
    name, sign, address = listen.partition(_SIGN)
    if not sign:
        return listen, None
    found = next((each for each in listeners if each.name == name.upper()), None)
    if found is None:
        known = ", ".join(each.name for each in listeners)
        raise Rejected(f"{setting}: there is no listener {name}: there are {known}")
    return address, found


def _is_private(listener: OpenListener, settings: BrokerSettings) -> bool:
    if listener.tls is None:
        return False
    return listener.checks is not None or settings.words_of(listener.name)["ssl.client.auth"] == "required"
