"""TLS contexts from Kafka's settings: PEM from files or in line, TLS 1.2 and 1.3, and nothing older.

Compression, renegotiation and session tickets are off. `WatchedContext` looks at the files again and again: a new
certificate is taken for the next handshake; a broken one is not, nor one that is over in the place of one that is not,
and says so.

OpenSSL reads a certificate and its key only from a file, so what was read is handed over in one that exists in memory
alone: the bytes that were compared are the bytes that are taken, and a key in line never touches a disk.
"""

from __future__ import annotations

import logging
import math
import os
import re
import ssl
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final, NamedTuple

from holdfast.io.clock import Clock
from holdfast.security.errors import BadSetting
from holdfast.security.files import read_within
from holdfast.security.secret import NONE, Secret

log = logging.getLogger(__name__)

LOOK_EVERY_S: Final = 1.0
SIZE_MAX: Final = 4 << 20  # Bytes of one PEM file.

CLIENT_AUTH: Final = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
PROTOCOLS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
# Kafka's names, which are IANA's, and OpenSSL's. Forward secret and authenticated, no others.
CIPHERS: Final = {
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
}
# Python has no call to choose among these: all or none.
CIPHERS_13: Final = ("TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256")

_KEY = b"PRIVATE KEY-----"
_CERTIFICATE = b"-----BEGIN CERTIFICATE-----"
_BLOCK = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----.*?-----END \1-----\s*", re.DOTALL)
_ENCRYPTED = (b"-----BEGIN ENCRYPTED PRIVATE KEY-----", b"Proc-Type: 4,ENCRYPTED")
_TO_PEM = (
    "keytool -importkeystore -srckeystore {path} -destkeystore store.p12 -deststoretype PKCS12 && "
    "openssl pkcs12 -in store.p12 -out store.pem"
)
_WORDS = {
    "ssl.keystore.location": "keystore_location",
    "ssl.keystore.certificate.chain": "certificate_chain",
    "ssl.keystore.key": "key",
    "ssl.key.password": "key_password",
    "ssl.truststore.location": "truststore_location",
    "ssl.truststore.certificates": "truststore_certificates",
    "ssl.client.auth": "client_auth",
    "ssl.enabled.protocols": "protocols",
    "ssl.cipher.suites": "ciphers",
}
_TYPES = ("ssl.keystore.type", "ssl.truststore.type")
_STORE_PASSWORDS = ("ssl.keystore.password", "ssl.truststore.password")
WORDS: Final = (*_WORDS, *_TYPES, *_STORE_PASSWORDS)  # Of Kafka's settings, those that are read here.


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """What a listener or a client was told about TLS, checked as far as it can be without reading a file."""

    keystore_location: str = ""
    certificate_chain: str = ""
    key: Secret = NONE
    key_password: Secret = NONE
    truststore_location: str = ""
    truststore_certificates: str = ""
    client_auth: str = "none"
    protocols: tuple[str, ...] = tuple(PROTOCOLS)
    ciphers: tuple[str, ...] = (*CIPHERS_13, *CIPHERS)

    def __post_init__(self) -> None:
        if self.keystore_location and (self.certificate_chain or self.key):
            raise BadSetting("ssl.keystore.location", "name a file, or give chain and key in line; not both")
        if bool(self.certificate_chain) != bool(self.key):
            missing = "ssl.keystore.key" if self.certificate_chain else "ssl.keystore.certificate.chain"
            raise BadSetting(missing, "chain and key are given together")
        if self.truststore_location and self.truststore_certificates:
            raise BadSetting("ssl.truststore.location", "name a file, or give the certificates in line; not both")
        if self.client_auth not in CLIENT_AUTH:
            raise BadSetting("ssl.client.auth", f"{self.client_auth!r} is none of {', '.join(CLIENT_AUTH)}")
        _check_names("ssl.enabled.protocols", self.protocols, tuple(PROTOCOLS))
        _check_names("ssl.cipher.suites", self.ciphers, (*CIPHERS_13, *CIPHERS))
        if {*self.ciphers} & {*CIPHERS_13} and not {*CIPHERS_13} <= {*self.ciphers}:
            raise BadSetting(
                "ssl.cipher.suites", f"those of TLS 1.3 come together: name all of {', '.join(CIPHERS_13)}"
            )
        if not self.versions:
            raise BadSetting("ssl.cipher.suites", f"none of them belongs to {', '.join(self.protocols)}")

    @property
    def versions(self) -> tuple[str, ...]:
        """The protocols that are enabled and have a cipher suite."""
        usable = {"TLSv1.2": any(each in CIPHERS for each in self.ciphers), "TLSv1.3": CIPHERS_13[0] in self.ciphers}
        return tuple(each for each in PROTOCOLS if each in self.protocols and usable[each])

    @property
    def has_certificate(self) -> bool:
        return bool(self.keystore_location or self.certificate_chain)

    @property
    def has_trust(self) -> bool:
        return bool(self.truststore_location or self.truststore_certificates)

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that are read."""
        return tuple(each for each in (self.keystore_location, self.truststore_location) if each)

    @classmethod
    def parse(cls, words: Mapping[str, str]) -> TlsSettings:
        """Of Kafka's words; others are not looked at. Stores that are not PEM are refused with what converts them."""
        for word in _TYPES:
            if words.get(word, "PEM").upper() != "PEM":
                path = words.get(word.replace(".type", ".location"), "STORE")
                raise BadSetting(word, f"only PEM is read, not {words[word]}: {_TO_PEM.format(path=path)}")
        for word in _STORE_PASSWORDS:
            if word in words:
                raise BadSetting(word, "a PEM file has none: remove it; that of the key is ssl.key.password")
        lists = {"protocols", "ciphers"}
        secrets = {each.name for each in fields(cls) if each.type == "Secret"}
        given: dict[str, object] = {}
        for word, field in _WORDS.items():
            text = words.get(word, "").strip()
            if not text:
                continue
            parts = tuple(part.strip() for part in text.split(",") if part.strip())
            given[field] = parts if field in lists else Secret(words[word]) if field in secrets else text
        return cls(**given)  # type: ignore[arg-type]  # Each as its field has it.


class Material(NamedTuple):
    """The bytes that a context is made of, read once."""

    certificate: bytes = b""  # The key and the chain, its own first.
    trust: bytes = b""

    def digest(self) -> bytes:
        return sha256(b"%d:" % len(self.certificate) + self.certificate + self.trust).digest()

    def __repr__(self) -> str:
        return "Material(…)"


def read_material(settings: TlsSettings) -> Material:
    """Read what the settings name, and check that it is PEM and whole. Blocks."""
    certificate = b""
    if settings.keystore_location:
        certificate = _read("ssl.keystore.location", settings.keystore_location)
    elif settings.certificate_chain:
        certificate = f"{_lines(settings.key.reveal())}\n{_lines(settings.certificate_chain)}\n".encode()
    trust = _lines(settings.truststore_certificates).encode()
    if settings.truststore_location:
        trust = _read("ssl.truststore.location", settings.truststore_location)
    return Material(certificate, trust)


def server_context(settings: TlsSettings, material: Material) -> ssl.SSLContext:
    """What a listener accepts connections with."""
    if not settings.has_certificate:
        raise BadSetting("ssl.keystore.location", "a listener with TLS needs a certificate and its key")
    if settings.client_auth != "none" and not settings.has_trust:
        why = f"ssl.client.auth={settings.client_auth} needs the certificates that sign those of clients"
        raise BadSetting("ssl.truststore.location", why)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _limit(context, settings)
    context.num_tickets = 0
    context.verify_mode = CLIENT_AUTH[settings.client_auth]
    _load_certificate(context, settings, material.certificate)
    if settings.has_trust:
        _load_trust(context, settings, material.trust)
    return context


def client_context(settings: TlsSettings, material: Material, *, check_name: bool = True) -> ssl.SSLContext:
    """What we connect with. Without a trust store the system's is taken; the server is always checked."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _limit(context, settings)
    context.check_hostname = check_name
    if settings.has_trust:
        _load_trust(context, settings, material.trust)
    else:
        context.load_default_certs()
    if settings.has_certificate:
        _load_certificate(context, settings, material.certificate)
    return context


class Span(NamedTuple):
    """When a certificate is good, in seconds since 1970."""

    start: float
    end: float

    def why_not(self, now_s: float) -> str:
        """Why clients do not take it now; empty if they do."""
        if now_s < self.start:
            return f"the certificate is good from {_day(self.start)} on"
        return f"the certificate was good until {_day(self.end)}" if now_s >= self.end else ""


def span_of(material: Material) -> Span:
    """Of our own certificate, the first of the chain; of one that only OpenSSL can read: always."""
    from cryptography import x509  # Here: it takes time to load.

    try:
        found = x509.load_pem_x509_certificate(material.certificate)
    except ValueError:
        return Span(-math.inf, math.inf)
    return Span(found.not_valid_before_utc.timestamp(), found.not_valid_after_utc.timestamp())


class Pem(NamedTuple):
    """What others who speak TLS themselves make a context of."""

    key: bytes  # Not encrypted.
    chain: bytes
    trust: bytes

    def __repr__(self) -> str:
        return "Pem(…)"


def pem_of(settings: TlsSettings, material: Material) -> Pem:
    """Of material that a context was made of."""
    from cryptography.hazmat.primitives import serialization  # Here: it takes time to load.

    password = settings.key_password.reveal().encode() or None
    blocks = [(each[1], each[0]) for each in _BLOCK.finditer(material.certificate)]
    key = serialization.load_pem_private_key(
        next(text for kind, text in blocks if kind.endswith(b"PRIVATE KEY")), password
    )
    plain = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Pem(plain, b"".join(text for kind, text in blocks if kind == b"CERTIFICATE"), material.trust)


class WatchedContext:
    """A context that follows its files. `look` blocks and belongs in a thread; `current` may be read anywhere."""

    def __init__(
        self,
        name: str,
        settings: TlsSettings,
        clock: Clock,
        make: Callable[[TlsSettings, Material], ssl.SSLContext] = server_context,
    ) -> None:
        """Raises BadSetting: at the start there is nothing older to keep."""
        material = read_material(settings)
        self.name = name  # Of the listener, for people.
        self.current = make(settings, material)
        self.renewals = 0
        self.problem = ""  # Why the files, as they are, were not taken; empty while all is well.
        self._settings = settings
        self._make = make
        self._clock = clock
        self._material = material
        self._span = span_of(material)
        self._taken = self._seen = material.digest()
        self._has_warned = False  # That `current` is not good.
        self._warn_of_end()

    def pem(self) -> Pem:
        """What `current` is made of."""
        return pem_of(self._settings, self._material)

    def look(self) -> bool:
        """Take what has changed in the files, or keep what there is; whether it was taken."""
        self._warn_of_end()
        try:
            material = read_material(self._settings)
        except BadSetting as failure:
            self._seen = b""
            self._complain(str(failure))
            return False
        digest = material.digest()
        if digest == self._seen:
            return False
        self._seen = digest
        return self._take(material, digest)

    def change(self, settings: TlsSettings) -> None:
        """Take other settings, such as another file. Raises BadSetting, and stays as it is."""
        material = read_material(settings)
        made = self._make(settings, material)
        if why := self._why_worse(material):
            raise BadSetting("ssl.keystore.location", why)
        self._settings = settings
        self._seen = material.digest()
        self._use(made, material)

    def _take(self, material: Material, digest: bytes) -> bool:
        if digest == self._taken:  # It was broken, and is again what it was.
            self.problem = ""
            return False
        try:
            made = self._make(self._settings, material)
        except BadSetting as failure:
            self._complain(str(failure))
            return False
        if why := self._why_worse(material):
            self._seen = b""  # Its time may come.
            self._complain(why)
            return False
        self._use(made, material)
        log.info("the certificates of listener %s were renewed", self.name)
        self._warn_of_end()
        return True

    def _use(self, made: ssl.SSLContext, material: Material) -> None:
        self._material, self.current, self._taken, self.problem = material, made, material.digest(), ""
        self._span = span_of(material)
        self._has_warned = False
        self.renewals += 1

    def _why_worse(self, material: Material) -> str:
        """Why clients would not take what they take now; empty if they would, or do not take what there is either."""
        now_s = self._clock.now_ms() / 1000
        return "" if self._span.why_not(now_s) else span_of(material).why_not(now_s)

    def _warn_of_end(self) -> None:
        why = self._span.why_not(self._clock.now_ms() / 1000)
        if why and not self._has_warned:
            log.warning("listener %s: %s: clients that check it do not connect; renew it", self.name, why)
        self._has_warned = bool(why)

    def _complain(self, problem: str) -> None:
        if problem != self.problem:
            log.warning("listener %s keeps its certificates, the new ones are not usable: %s", self.name, problem)
        self.problem = problem


def _check_names(setting: str, given: tuple[str, ...], known: tuple[str, ...]) -> None:
    for each in given:
        if each not in known:
            raise BadSetting(setting, f"{each!r} is not supported: there are {', '.join(known)}")
    if not given:
        raise BadSetting(setting, f"name at least one of {', '.join(known)}")


def _read(setting: str, path: str) -> bytes:
    data = read_within(path, SIZE_MAX, lambda why: BadSetting(setting, f"{path} {why}"))
    if data.startswith((b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce", b"\x30\x82", b"\x30\x80")):
        raise BadSetting(setting, f"{path} is no PEM: {_TO_PEM.format(path=path)}")
    return data


def _lines(pem: str) -> str:
    """PEM in line may stand in one line, with blanks where its lines ended; base64 itself has none."""
    text = pem.strip().replace("\\n", "\n")
    if "\n" in text or not text:
        return text
    parts: list[str] = []
    for piece in text.split("-----"):
        is_marker = piece.startswith(("BEGIN ", "END "))
        parts += [f"-----{piece}-----"] if is_marker else piece.split()
    return "\n".join(parts)


def _limit(context: ssl.SSLContext, settings: TlsSettings) -> None:
    context.minimum_version = PROTOCOLS[settings.versions[0]]
    context.maximum_version = PROTOCOLS[settings.versions[-1]]
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_TICKET
    old = [CIPHERS[each] for each in settings.ciphers if each in CIPHERS]
    if old:
        context.set_ciphers(":".join(old))


def _load_certificate(context: ssl.SSLContext, settings: TlsSettings, pem: bytes) -> None:
    where = settings.keystore_location or "the chain and key in line"
    setting = "ssl.keystore.location" if settings.keystore_location else "ssl.keystore.certificate.chain"
    if _KEY not in pem or _CERTIFICATE not in pem:
        missing = "certificate" if _KEY in pem else "private key"
        raise BadSetting(setting, f"{where} has no {missing} in PEM form; both belong there")
    is_encrypted = any(each in pem for each in _ENCRYPTED)
    if is_encrypted != bool(settings.key_password):
        why = "the key is encrypted: give its password" if is_encrypted else "the key is not encrypted: remove it"
        raise BadSetting("ssl.key.password", why)
    try:
        with _in_memory(pem) as path:
            context.load_cert_chain(path, password=settings.key_password.reveal())  # Without one OpenSSL would ask.
    except (OSError, ValueError) as failure:
        hint = ", or ssl.key.password is wrong" if is_encrypted else ""
        why = f"{where} is broken, or its key is not that of its first certificate{hint} ({_reason(failure)})"
        raise BadSetting(setting, why) from None


def _load_trust(context: ssl.SSLContext, settings: TlsSettings, pem: bytes) -> None:
    where = settings.truststore_location or "the certificates in line"
    setting = "ssl.truststore.location" if settings.truststore_location else "ssl.truststore.certificates"
    if _CERTIFICATE not in pem:
        raise BadSetting(setting, f"{where} has no certificate in PEM form")
    try:
        context.load_verify_locations(cadata=pem.decode("ascii", "ignore"))
    except (OSError, ValueError) as failure:
        raise BadSetting(setting, f"{where} is broken ({_reason(failure)})") from None


def _day(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _reason(failure: Exception) -> str:
    return getattr(failure, "reason", None) or getattr(failure, "strerror", None) or type(failure).__name__


@contextmanager
def _in_memory(data: bytes) -> Iterator[str]:
    """A file that is nowhere; where the system has none, one that nobody else may read and that is gone at once."""
    if hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("pem"), "wb") as file:
            file.write(data)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
    else:
        with tempfile.NamedTemporaryFile() as named:
            named.write(data)
            named.flush()
            yield named.name
