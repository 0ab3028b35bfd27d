"""A listener that is open: a socket, and what the connections through it have in common."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping
from functools import partial
from typing import NamedTuple, Protocol

from holdfast.broker.listeners import Listener
from holdfast.errors import Rejected
from holdfast.io.address import Address, bind
from holdfast.io.chance import SystemChance
from holdfast.io.clock import SystemClock
from holdfast.security.errors import BadSetting
from holdfast.security.logins.checks import LoginChecks
from holdfast.security.mapping import SETTING as MAPPING_SETTING
from holdfast.security.mapping import PrincipalMapping, subject_of
from holdfast.security.principal import ANONYMOUS, Principal, Session, host_of
from holdfast.security.protocol import SecurityProtocol
from holdfast.security.tls import TlsSettings, WatchedContext


class OpenListener(NamedTuple):
    """Bound, so that its port is known; connections are taken when a server listens."""

    name: str
    protocol: SecurityProtocol
    bound: socket.socket
    told: Address  # Where its clients are told to find this broker.
    tls: WatchedContext | None = None
    mapping: PrincipalMapping = PrincipalMapping()
    checks: LoginChecks | None = None  # Of SASL.

    @property
    def here(self) -> Address:
        return Address(*self.bound.getsockname()[:2])

    def session(self, peer: str, certificate: bytes | None = None) -> Session:
        """Who a connection is of, as far as an address and a certificate tell. NobodysName if no rule matches it.

        With SASL nobody is anybody before they have logged in, whatever certificate they show.
        """
        is_named = certificate is not None and self.checks is None
        principal = Principal(self.mapping.name_of(subject_of(certificate))) if is_named and certificate else ANONYMOUS
        return Session(principal, host_of(peer), self.name)

    @classmethod
    def plain(cls, bound: socket.socket, told: Address | None = None) -> OpenListener:
        """One for everybody who can reach it."""
        here = Address(*bound.getsockname()[:2])
        return cls(SecurityProtocol.PLAINTEXT.value, SecurityProtocol.PLAINTEXT, bound, told or here)


class WordsOf(Protocol):
    """The settings of a listener, with a mechanism those for logins with it, too."""

    def __call__(self, listener: str, mechanism: str = "") -> Mapping[str, str]: ...


def open_listeners(wanted: Iterable[Listener], words_of: WordsOf, otherwise: str) -> list[OpenListener]:
    """All of them, or none. `otherwise` says what to do if one is taken."""
    opened: list[OpenListener] = []
    try:
        for name, protocol, address, advertised in wanted:
            protection = _protection(name, protocol, words_of)
            bound = bind(address, otherwise)
            told = advertised or Address(address.host, bound.getsockname()[1])
            opened.append(OpenListener(name, protocol, bound, told, *protection))
    except BaseException:
        for each in opened:
            each.bound.close()
        raise
    return opened


def _protection(
    name: str, protocol: SecurityProtocol, words_of: WordsOf
) -> tuple[WatchedContext | None, PrincipalMapping, LoginChecks | None]:
    tls, mapping, checks = None, PrincipalMapping(), None
    words = words_of(name)
    try:
        if protocol.has_tls:
            mapping = PrincipalMapping.parse(words[MAPPING_SETTING])
            tls = WatchedContext(name, TlsSettings.parse(words), SystemClock())
        if protocol.has_sasl:
            checks = LoginChecks(partial(words_of, name), SystemClock(), SystemChance())
    except BadSetting as failure:
        raise Rejected(f"the listener {name}: {failure}") from None
    return tls, mapping, checks
