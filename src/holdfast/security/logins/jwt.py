"""OAUTHBEARER: tokens (JWT) that somebody else has signed, checked against the keys that they publish (JWKS).

Signatures are RS, PS and ES 256 to 512 and EdDSA; never `none`, and never HMAC, whose key would be public here. `exp`,
`iat` and the subject are required, audience and issuer are as set. The session ends with the token.

A key is found by the `kid` of the token. A `kid` nobody knows fetches the set again, at most every ten seconds; a set
that cannot be fetched is kept for a day. Fetching and checking block: both belong in a thread.
"""

from __future__ import annotations

import json
import logging
import threading
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.message import Message
from typing import IO, Any, Final, NamedTuple
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit

from holdfast.errors import Rejected, Unavailable
from holdfast.io.clock import Clock
from holdfast.security.errors import BadSetting, LoginFailed
from holdfast.security.header import encode_authorization
from holdfast.security.logins.plain import PlainClaim
from holdfast.security.secret import Secret

log = logging.getLogger(__name__)

PREFIX: Final = "sasl.oauthbearer."
URL: Final = PREFIX + "jwks.endpoint.url"
TOKEN_SIZE_MAX: Final = 64 << 10  # Bytes.
KEYS_SIZE_MAX: Final = 1 << 20
KEYS_MAX: Final = 1000
RSA_BITS_MIN: Final = 2048
FETCH_TIMEOUT_S: Final = 10.0
UNKNOWN_EVERY_S: Final = 10.0
KEPT_S: Final = 24 * 3600.0
REFRESH_MS: Final = 3_600_000  # Kafka's.
SKEW_S: Final = 30  # Kafka's.

_ALGORITHMS = {
    "RSA": ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    "P-256": ("ES256",),
    "P-384": ("ES384",),
    "P-521": ("ES512",),
    "Ed25519": ("EdDSA",),
    "Ed448": ("EdDSA",),
}
# The times are held against a clock that is handed in, the rest against the settings: see `_checked`.
_UNCHECKED: Any = {
    "verify_exp": False,
    "verify_iat": False,
    "verify_nbf": False,
    "verify_aud": False,
    "verify_iss": False,
}


@dataclass(frozen=True, slots=True)
class TokenSettings:
    """What a token must say."""

    url: str  # https: or file:
    audience: tuple[str, ...] = ()  # One of these; none: any.
    issuer: str = ""
    subject_claim: str = "sub"
    scope_claim: str = "scope"
    skew_s: int = SKEW_S
    refresh_ms: int = REFRESH_MS

    def __post_init__(self) -> None:
        if urlsplit(self.url).scheme not in ("https", "file"):
            raise BadSetting(URL, "write https:… or file:…, so that nobody can change the keys on the way")

    @classmethod
    def parse(cls, words: Mapping[str, str]) -> TokenSettings:
        """Of Kafka's words; others are not looked at."""
        audience = words.get(PREFIX + "expected.audience", "")
        return cls(
            words.get(URL, ""),
            tuple(each.strip() for each in audience.split(",") if each.strip()),
            words.get(PREFIX + "expected.issuer", ""),
            words.get(PREFIX + "sub.claim.name", "sub"),
            words.get(PREFIX + "scope.claim.name", "scope"),
            _number(words, PREFIX + "clock.skew.seconds", SKEW_S),
            _number(words, PREFIX + "jwks.endpoint.refresh.ms", REFRESH_MS),
        )


WORDS: Final = (
    URL,
    *(PREFIX + each for each in ("expected.audience", "expected.issuer", "sub.claim.name", "scope.claim.name")),
    *(PREFIX + each for each in ("clock.skew.seconds", "jwks.endpoint.refresh.ms")),
)


class TokenKey(NamedTuple):
    """A public key, and the signatures that it may be used for."""

    key: Any
    algorithms: tuple[str, ...]


class Token(NamedTuple):
    """A token that is right."""

    user: str
    expires_s: float  # Since 1970.
    scopes: tuple[str, ...]


def encode_bearer(token: Secret) -> bytes:
    """What a client sends."""
    return f"n,,\x01auth=Bearer {token.reveal()}\x01\x01".encode()


def parse_bearer(data: bytes) -> tuple[Secret, str]:
    """The token, and whom the client wants to be, if it says so. Raises LoginFailed."""
    try:
        header, *pairs = data.decode("ascii").split("\x01")
    except UnicodeDecodeError:
        raise LoginFailed("the message is not ASCII") from None
    fields = dict(each.split("=", 1) for each in pairs if "=" in each)
    scheme, _, token = fields.get("auth", "").partition(" ")
    parts = header.split(",")
    if len(parts) != 3 or parts[0] not in ("n", "y") or pairs[-2:] != ["", ""] or scheme.lower() != "bearer":
        raise LoginFailed("the message does not hold a bearer token")
    if not 0 < len(token) <= TOKEN_SIZE_MAX:
        raise LoginFailed(f"a token has 1 to {TOKEN_SIZE_MAX} bytes")
    return Secret(token.strip()), parts[1].removeprefix("a=")


def parse_keys(data: bytes) -> dict[str, TokenKey]:
    """The keys of a JWKS by their `kid`; weak ones and those not for signatures are left out. Raises ValueError."""
    body = json.loads(data)
    found = body.get("keys") if isinstance(body, dict) else None
    if not isinstance(found, list) or len(found) > KEYS_MAX:
        raise ValueError(f"it is no set of at most {KEYS_MAX} keys")
    keys: dict[str, TokenKey] = {}
    for each in found:
        key = _key(each) if isinstance(each, dict) else None
        if key is not None:
            keys[str(each["kid"])] = key
    return keys


def check_token(
    token: Secret, settings: TokenSettings, find: Callable[[str], TokenKey | None], now_s: float, wanted: str = ""
) -> Token:
    """Whose token it is. `find` gives a key by its `kid`. Raises LoginFailed, which never holds the token."""
    import jwt  # Here: it takes time to load, and not every broker has such clients.

    try:
        header = jwt.get_unverified_header(token.reveal())
        kid = header.get("kid")
        if not isinstance(kid, str) or not kid:
            raise LoginFailed("the token does not name a key")
        key = find(kid)
        if key is None:
            raise LoginFailed(f"no key {kid[:80]!r} is published")
        claims = jwt.decode(token.reveal(), key.key, algorithms=list(key.algorithms), options=_UNCHECKED)
    except (jwt.PyJWTError, ValueError, TypeError) as failure:
        raise LoginFailed(f"the token is not right: {type(failure).__name__}") from None
    return _checked(claims, settings, now_s, wanted)


def _checked(claims: Mapping[str, Any], settings: TokenSettings, now_s: float, wanted: str) -> Token:
    user = claims.get(settings.subject_claim)
    if not isinstance(user, str) or not user.strip():
        raise LoginFailed(f"the token has no {settings.subject_claim}")
    expires_s, issued_s = (_time(claims, each, user) for each in ("exp", "iat"))
    if now_s >= expires_s + settings.skew_s:
        raise LoginFailed("the token has expired", user)
    if max(issued_s, _time(claims, "nbf", user, 0)) > now_s + settings.skew_s:
        raise LoginFailed("the token is from the future", user)
    if expires_s <= issued_s:
        raise LoginFailed("the token ends before it begins", user)
    audience = claims.get("aud", ())
    named = {audience} if isinstance(audience, str) else {each for each in audience if isinstance(each, str)}
    if settings.audience and not named & {*settings.audience}:
        raise LoginFailed("the token is for another audience", user)
    if settings.issuer and claims.get("iss") != settings.issuer:
        raise LoginFailed("the token is of another issuer", user)
    if wanted and wanted != user:
        raise LoginFailed("to log in as one user and act as another is not offered", user)
    return Token(user, expires_s, _scopes(claims.get(settings.scope_claim)))


@dataclass
class TokenKeys:
    """The keys of one issuer, fetched when they are needed. Any thread may ask; one fetches at a time."""

    settings: TokenSettings
    clock: Clock
    fetch: Callable[[str], bytes] = field(default_factory=lambda: fetch_keys)
    problem: str = ""  # Why the last fetch failed.

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._keys: dict[str, TokenKey] = {}
        self._fetched: float | None = None
        self._tried: float | None = None

    def find(self, kid: str) -> TokenKey | None:
        """A key, fetched if need be. Blocks."""
        with self._lock:
            now = self.clock.boottime()
            is_old = self._fetched is None or now - self._fetched >= self.settings.refresh_ms / 1000
            may_try = self._tried is None or now - self._tried >= UNKNOWN_EVERY_S
            if (is_old or kid not in self._keys) and may_try:
                self._tried = now
                self._fetch(now)
            if self._fetched is not None and now - self._fetched > KEPT_S:
                raise LoginFailed(f"the keys could not be fetched for a day: {self.problem}")
            return self._keys.get(kid)

    def _fetch(self, now: float) -> None:
        try:
            keys = parse_keys(self.fetch(self.settings.url))
            if not keys:
                raise ValueError("it holds no key that can be used")
        except (OSError, ValueError, TypeError, KeyError) as failure:
            self.problem = str(failure)
            log.warning("the keys of %s cannot be fetched, those before are kept: %s", self.settings.url, failure)
        else:
            self._keys, self._fetched, self.problem = keys, now, ""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        """The keys are at the address that was set, or nowhere."""


def fetch_keys(url: str) -> bytes:
    """A JWKS. Blocks, for ten seconds at most between two bytes. Raises OSError."""
    opener = urllib.request.build_opener(_NoRedirect)
    with opener.open(url, timeout=FETCH_TIMEOUT_S) as answer:
        data: bytes = answer.read(KEYS_SIZE_MAX + 1)
    if len(data) > KEYS_SIZE_MAX:
        raise OSError(f"it has more than {KEYS_SIZE_MAX} bytes")
    return data


class IssuerRefused(Rejected):
    """An issuer does not know the client, or has no token for it."""

    def __init__(self, url: str, client_id: str, why: str) -> None:
        super().__init__(f"no token for client {client_id} from {url}: {why}: correct its id, secret and scope")
        self.url = url


def fetch_token(url: str, client_id: str, client_secret: Secret, scope: str) -> tuple[Secret, float]:
    """A token for a client's id and secret (RFC 6749, 4.4), and for how many seconds it is good. Blocks, as
    `fetch_keys`. Raises IssuerRefused, or Unavailable; neither shows what the issuer was sent or has said."""
    form = {"grant_type": "client_credentials"} | ({"scope": scope} if scope else {})
    headers = {
        "Authorization": encode_authorization(PlainClaim(client_id, client_secret)),
        "Accept": "application/json",
    }
    asked = urllib.request.Request(url, urlencode(form).encode(), headers)
    try:
        with urllib.request.build_opener(_NoRedirect).open(asked, timeout=FETCH_TIMEOUT_S) as answer:
            body = json.loads(answer.read(KEYS_SIZE_MAX))
        token, lasts_s = body["access_token"], float(body.get("expires_in", 0))
        if not isinstance(token, str) or not token.isascii() or not 0 < len(token) <= TOKEN_SIZE_MAX:
            raise ValueError
    except HTTPError as failure:
        if failure.code < 500:
            raise IssuerRefused(url, client_id, f"it answers {failure.code}") from None
        raise Unavailable(f"no token from {url}: it answers {failure.code}") from None
    except OSError as failure:
        why = getattr(failure, "reason", None) or failure
        raise Unavailable(f"no token from {url}: {why}") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise IssuerRefused(url, client_id, "what it answers holds none") from None
    return Secret(token.strip()), max(lasts_s, 0.0)


def _key(each: dict[str, Any]) -> TokenKey | None:
    import jwt

    kid, kind = each.get("kid"), each.get("kty")
    allowed = _ALGORITHMS.get(str(each.get("crv")) if kind in ("EC", "OKP") else str(kind), ())
    if "alg" in each:
        allowed = tuple(name for name in allowed if name == each["alg"])
    if not isinstance(kid, str) or not kid or not allowed or each.get("use", "sig") != "sig":
        return None
    public = {name: text for name, text in each.items() if name != "d"}  # A private key has no business here.
    try:
        key = jwt.PyJWK(public, allowed[0]).key
    except (jwt.PyJWTError, ValueError, TypeError, KeyError):
        return None
    return None if kind == "RSA" and key.key_size < RSA_BITS_MIN else TokenKey(key, allowed)


def _time(claims: Mapping[str, Any], name: str, user: str, default: float | None = None) -> float:
    found = claims.get(name, default)
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found < 1e12:
        raise LoginFailed(f"the token has no {name} that is a time", user)
    return float(found)


def _scopes(found: object) -> tuple[str, ...]:
    if isinstance(found, str):
        return tuple(found.split())
    return tuple(each for each in found if isinstance(each, str)) if isinstance(found, list) else ()


def _number(words: Mapping[str, str], name: str, default: int) -> int:
    text = words.get(name, str(default)).strip()
    if not (text.isascii() and text.isdecimal()) or len(text) > 12:
        raise BadSetting(name, "it takes a whole number")
    return int(text)
