"""How our clients are protected, in Kafka's words: what `client.properties` says of TLS and of logins.

    security.protocol=SASL_SSL
    ssl.truststore.location=/etc/holdfast/ca.pem
    sasl.mechanism=SCRAM-SHA-512
    sasl.jaas.config=….scram.ScramLoginModule required username="alice" password="${file:/etc/holdfast/alice:password}";

`SecurityOptions` are those words, checked where they are made. They travel to executors as they were given: what
`${file:…}` and `${env:…}` name, and every file, is read where a connection is opened and when it is, so that a place
travels, not the secret, and what was renewed is taken by the next connection. No text of them shows a secret.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

from holdfast.client.protection.tokens import TOKEN_URL, TokenSource
from holdfast.errors import Rejected, nearest
from holdfast.io.address import is_loopback
from holdfast.security.errors import BadSetting
from holdfast.security.header import encode_authorization
from holdfast.security.logins.checks import OAUTHBEARER, OFFERED
from holdfast.security.logins.jaas import MODULES, Jaas, parse_jaas
from holdfast.security.logins.jaas import SETTING as JAAS
from holdfast.security.logins.jwt import PREFIX
from holdfast.security.logins.plain import PlainClaim
from holdfast.security.logins.scram import MECHANISMS as SCRAM
from holdfast.security.properties import resolve
from holdfast.security.protocol import SecurityProtocol
from holdfast.security.secret import HIDDEN, NONE, Secret, is_secret
from holdfast.security.tls import WORDS as TLS_WORDS
from holdfast.security.tls import Material, TlsSettings, client_context, read_material

PROTOCOL: Final = "security.protocol"
MECHANISM: Final = "sasl.mechanism"
CLIENT_ID: Final = PREFIX + "client.credentials.client.id"
CLIENT_SECRET: Final = PREFIX + "client.credentials.client.secret"
SCOPE: Final = PREFIX + "scope"
CALLBACK: Final = "sasl.login.callback.handler.class"
CHECK_NAME: Final = "ssl.endpoint.identification.algorithm"
WORDS: Final = (
    PROTOCOL,
    *(each for each in TLS_WORDS if each != "ssl.client.auth"),
    CHECK_NAME,
    MECHANISM,
    JAAS,
    TOKEN_URL,
    CLIENT_ID,
    CLIENT_SECRET,
    SCOPE,
    CALLBACK,
)
HANDLERS: Final = (  # Of Kafka 4, and of those before. What they do is built in here.
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler",
    "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler",
)
_LIBRDKAFKAS = {  # Which word of Kafka's own clients says the same.
    "sasl.mechanisms": MECHANISM,
    "sasl.username": JAAS,
    "sasl.password": JAAS,
    "ssl.ca.location": "ssl.truststore.location",
    "ssl.ca.pem": "ssl.truststore.certificates",
    "ssl.certificate.location": "ssl.keystore.location",
    "ssl.key.location": "ssl.keystore.location",
}

NOTHING: Final = Material()


class UnknownWord(Rejected):
    """A setting that this client does not have."""

    def __init__(self, word: str, known: tuple[str, ...]) -> None:
        hint = nearest(word, known) or f": there are {', '.join(known)}"
        if word in _LIBRDKAFKAS:
            hint = f": that is librdkafka's word, Kafka's is {_LIBRDKAFKAS[word]}"
        super().__init__(f"there is no client setting {word}{hint}")
        self.word = word


class Credentials(NamedTuple):
    """Who we say we are, and what proves it."""

    mechanism: str
    user: str = ""  # Of PLAIN and SCRAM; whose a token is, its issuer has said.
    password: Secret = NONE
    tokens: TokenSource | None = None  # Of OAUTHBEARER.


@dataclass(frozen=True, slots=True)
class Protection:
    """What one connection is opened with: everything that the words name, as it is now."""

    protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    tls: TlsSettings | None = None
    material: Material = NOTHING
    checks_name: bool = True
    credentials: Credentials | None = None

    def context(self) -> ssl.SSLContext | None:
        """What TLS is spoken with; None without. Raises BadSetting."""
        return None if self.tls is None else client_context(self.tls, self.material, check_name=self.checks_name)

    def authorization(self, host: str) -> str | None:
        """Who we are for a port that speaks no SASL, as HTTP and gRPC send it; None for nobody.

        Blocks where a token has to be fetched. Raises BadSetting.
        """
        who = self.credentials
        if who is None:
            return None
        if who.mechanism in SCRAM and self.tls is None and not is_loopback(host):
            why = "this port is sent the password itself, and whoever chose SCRAM does not want that: use SASL_SSL"
            raise BadSetting(PROTOCOL, why)
        return encode_authorization(who.tokens.fetch() if who.tokens else PlainClaim(who.user, who.password))


@dataclass(frozen=True, slots=True, repr=False)
class SecurityOptions:
    """How a client is protected. It is a value; `open` says what it comes to here and now."""

    words: tuple[tuple[str, str | Secret], ...] = ()  # As they were given, in order.

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> SecurityOptions:
        """Of Kafka's words. What is wrong with them, or with what they name, is said here."""
        for word in given:
            if word not in WORDS:
                raise UnknownWord(word, WORDS)
        hidden = ((word, Secret(text) if is_secret(word) else text) for word, text in sorted(given.items()))
        made = cls(tuple(hidden))
        made.open().context()
        return made

    def open(self) -> Protection:
        """Fetch what the words name. Reads files; raises BadSetting, which shows no secret."""
        words = resolve(self._revealed(), os.environ)
        protocol = _protocol(words.get(PROTOCOL, SecurityProtocol.PLAINTEXT))
        _check_none("ssl.", protocol, words, is_wanted=protocol.has_tls)
        _check_none("sasl.", protocol, words, is_wanted=protocol.has_sasl)
        credentials = _credentials(words) if protocol.has_sasl else None
        if not protocol.has_tls:
            return Protection(protocol, credentials=credentials)
        tls = TlsSettings.parse(words)
        return Protection(protocol, tls, read_material(tls), _checks_name(words), credentials)

    def shown(self) -> dict[str, str]:
        """The words for people and for JSON: secrets are `…`."""
        return {word: HIDDEN if isinstance(text, Secret) else text for word, text in self.words}

    def __repr__(self) -> str:
        return f"SecurityOptions({', '.join(f'{word}={text}' for word, text in self.shown().items())})"

    def __reduce__(self) -> tuple[Any, ...]:
        """To an executor, which needs what we have: the words as they were given."""
        return _arrived, (self._revealed(),)

    def _revealed(self) -> dict[str, str]:
        return {word: text.reveal() if isinstance(text, Secret) else text for word, text in self.words}


PLAINTEXT: Final = SecurityOptions()


def _arrived(words: Mapping[str, str]) -> SecurityOptions:
    """They were checked where they were made; this machine may not have all that they name before it is needed."""
    return SecurityOptions(tuple((word, Secret(text) if is_secret(word) else text) for word, text in words.items()))


def _protocol(text: str) -> SecurityProtocol:
    try:
        return SecurityProtocol(text.strip().upper())
    except ValueError:
        raise BadSetting(PROTOCOL, f"{text!r} is none of {', '.join(SecurityProtocol)}") from None


def _check_none(prefix: str, protocol: SecurityProtocol, words: Mapping[str, str], *, is_wanted: bool) -> None:
    """Whoever writes it wants it: nobody shall believe in a protection that is not there."""
    idle = next((word for word in words if word.startswith(prefix)), None)
    if idle is not None and not is_wanted:
        wanted = "SSL or SASL_SSL" if prefix == "ssl." else "SASL_SSL or SASL_PLAINTEXT"
        raise BadSetting(idle, f"{PROTOCOL} is {protocol}, which has no use for it: write {wanted} there, or remove it")


def _checks_name(words: Mapping[str, str]) -> bool:
    text = words.get(CHECK_NAME, "https").strip().lower()
    if text not in ("https", ""):
        raise BadSetting(CHECK_NAME, "it is https, or empty: then a certificate of any name is taken")
    return bool(text)


def _credentials(words: Mapping[str, str]) -> Credentials:
    mechanism = words.get(MECHANISM, "").strip().upper()
    if mechanism not in OFFERED:
        wrong = f"there is no {mechanism}" if mechanism else "a login needs one"
        raise BadSetting(MECHANISM, f"{wrong}: choose of {', '.join(OFFERED)}")
    handler = words.get(CALLBACK, "")
    if handler and (handler not in HANDLERS or mechanism != OAUTHBEARER):
        raise BadSetting(CALLBACK, f"no classes are loaded: remove it; for OAUTHBEARER {HANDLERS[0]} is built in")
    jaas = _jaas(mechanism, words.get(JAAS, ""))
    if mechanism == OAUTHBEARER:
        return Credentials(mechanism, tokens=_tokens(words, jaas))
    foreign = next((each for each in (TOKEN_URL, CLIENT_ID, CLIENT_SECRET, SCOPE) if each in words), None)
    if foreign is not None:
        raise BadSetting(foreign, f"it is for OAUTHBEARER, and {MECHANISM} is {mechanism}: remove it")
    return _named(mechanism, jaas)


def _jaas(mechanism: str, text: str) -> Jaas:
    module = next(each for each, name in MODULES.items() if mechanism.startswith(name))
    if not text.strip():
        options = "" if mechanism == OAUTHBEARER else ' username="…" password="…"'
        raise BadSetting(JAAS, f"{mechanism} needs it: {module} required{options};")
    jaas = parse_jaas(text)
    if not mechanism.startswith(jaas.mechanism):
        raise BadSetting(JAAS, f"its module is of {jaas.mechanism}, and {MECHANISM} is {mechanism}: write {module}")
    return jaas


def _named(mechanism: str, jaas: Jaas) -> Credentials:
    for name in jaas.options:
        if name not in ("username", "password"):
            raise BadSetting(JAAS, f"a client has no option {name}: it has username and password")
    for name in ("username", "password"):
        if not jaas.options.get(name):
            raise BadSetting(JAAS, f'{name} is missing: write {name}="…" before the semicolon')
    return Credentials(mechanism, jaas.options["username"].reveal(), jaas.options["password"])


def _tokens(words: Mapping[str, str], jaas: Jaas) -> TokenSource:
    """Of a file that somebody keeps fresh, or of their issuer, as Kafka takes them."""
    url = words.get(TOKEN_URL, "").strip()
    place = urlsplit(url)
    for name in jaas.options:
        if name not in ("clientId", "clientSecret", "scope"):
            raise BadSetting(JAAS, f"OAUTHBEARER has no option {name}: it has clientId, clientSecret and scope")
    client_id = words.get(CLIENT_ID) or jaas.options.get("clientId", NONE).reveal()
    secret = Secret(words.get(CLIENT_SECRET, "")) or jaas.options.get("clientSecret", NONE)
    scope = words.get(SCOPE) or jaas.options.get("scope", NONE).reveal()
    if place.scheme == "file":
        if client_id or secret or scope:
            raise BadSetting(TOKEN_URL, "a file is not told who asks: leave out the client's id, secret and scope")
        found = TokenSource(path=unquote(place.path))
        found.fetch()
        return found
    if place.scheme != "https" or not place.hostname or place.username is not None:
        raise BadSetting(TOKEN_URL, "write https://… of an issuer, or file:///… of a token that somebody keeps fresh")
    if not client_id or not secret:
        raise BadSetting(JAAS, f'an issuer wants to know who asks: clientId="…" clientSecret="…", or {CLIENT_ID}')
    return TokenSource("", url, client_id, secret, scope)
