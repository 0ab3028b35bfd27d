"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, 7677), both sides, as values: no socket, no clock, no store.

    client                                   server
    n,,n=user,r=nonce                ──►
                                     ◄──     r=nonce+ours,s=salt,i=iterations
    c=biws,r=nonce+ours,p=proof      ──►
                                     ◄──     v=signature       or the login failed

What a server keeps of a password is a `Verifier`: salt, iterations, stored key, server key. A user who does not exist
is given a salt made of a secret and the name, always the same one, as long as those of others are, and as many
iterations, and fails at the proof, as with a wrong password: names cannot be probed. librdkafka before 2.6.1 puts its
own nonce once more in front; what ends with the whole nonce is taken, for the proof covers whatever was sent.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from holdfast.security.errors import LoginFailed
from holdfast.security.secret import Secret

MECHANISMS: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
ITERATIONS_MIN: Final = 4096
ITERATIONS_MAX: Final = 16384  # Kafka's.
ITERATIONS: Final = 4096  # Kafka's tools ask for as many.
SALT_SIZE: Final = 26  # Bytes, as Kafka's tools take.
NAME_SIZE_MAX: Final = 1024  # Bytes of a user's name, as it is sent.
NONCE_SIZE_MAX: Final = 1024

_NO_BINDING = "n,,"
_ASKED_MAX = 1_000_000  # Iterations that we do for a server: of any other hand, and not known yet.
_DIGITS_MAX = 9
_SHOWN_SIZE = 48  # Bytes of a digest that may become a salt; the others draw its shape.


@dataclass(frozen=True, slots=True)
class Verifier:
    """What is kept of a password: enough to check it, not enough to log in with. It prints no key."""

    mechanism: str
    salt: bytes = field(repr=False)
    iterations: int
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)

    def accepts(self, password: Secret) -> bool:
        """Whether it is the password. Takes milliseconds: call it in a thread."""
        hash_name = MECHANISMS[self.mechanism]
        salted = salt_password(hash_name, password, self.salt, self.iterations)
        return hmac.compare_digest(_hash(hash_name, _hmac(hash_name, salted, b"Client Key")), self.stored_key)


def salt_password(hash_name: str, password: Secret, salt: bytes, iterations: int) -> bytes:
    """Takes milliseconds: call it in a thread."""
    return hashlib.pbkdf2_hmac(hash_name, password.reveal().encode(), salt, iterations)


def verifier_of(mechanism: str, salted: bytes, salt: bytes, iterations: int) -> Verifier:
    """What to keep of a password that was salted; Kafka's tools send it in that form."""
    hash_name = MECHANISMS[mechanism]
    stored_key = _hash(hash_name, _hmac(hash_name, salted, b"Client Key"))
    return Verifier(mechanism, salt, iterations, stored_key, _hmac(hash_name, salted, b"Server Key"))


def make_verifier(mechanism: str, password: Secret, salt: bytes, iterations: int = ITERATIONS) -> Verifier:
    return verifier_of(mechanism, salt_password(MECHANISMS[mechanism], password, salt, iterations), salt, iterations)


class Shape(NamedTuple):
    """What a server's first message shows of a verifier, besides its salt."""

    salt_size: int
    iterations: int


def fake_verifier(mechanism: str, user: str, secret: bytes, shapes: Sequence[Shape] = ()) -> Verifier:
    """Of a user who does not exist: the same every time, in one of the shapes of those who do, and no password fits."""
    made = hmac.digest(secret, f"{mechanism}\0{user}".encode(), "sha512")
    drawn = int.from_bytes(made[_SHOWN_SIZE:], "big")
    shape = shapes[drawn % len(shapes)] if shapes else Shape(SALT_SIZE, ITERATIONS)
    salt = (made[:_SHOWN_SIZE] + hashlib.shake_256(made).digest(shape.salt_size))[: shape.salt_size]
    size = hashlib.new(MECHANISMS[mechanism]).digest_size
    return Verifier(mechanism, salt, shape.iterations, bytes(size), bytes(size))


@dataclass(frozen=True, slots=True)
class ClientFirst:
    """How a client begins."""

    user: str
    nonce: str
    bare: str = field(repr=False)  # As it was sent, without what is in front of the name.


@dataclass(frozen=True, slots=True)
class Exchange:
    """A server's login between its two messages. It belongs to one user, and knows no password."""

    user: str
    is_known: bool
    verifier: Verifier
    nonce: str
    said: str = field(repr=False)  # The two messages so far, as the proof covers them.


def parse_client_first(data: bytes) -> ClientFirst:
    """The first message. Raises LoginFailed."""
    text = _text(data)
    binding, comma, rest = text.partition(",")
    authzid, second, bare = rest.partition(",")
    if not comma or not second or binding not in ("n", "y"):
        raise LoginFailed("the first message does not begin with n,, : channel binding is not offered")
    fields = bare.split(",")
    if len(fields) < 2 or fields[0][:2] != "n=" or fields[1][:2] != "r=":
        raise LoginFailed("the first message has no name and nonce where they belong")
    user = _unescaped(fields[0][2:])
    if authzid and _unescaped(authzid.removeprefix("a=")) != user:
        raise LoginFailed("to log in as one user and act as another is not offered", user)
    nonce = fields[1][2:]
    if not user or len(user.encode()) > NAME_SIZE_MAX or not 0 < len(nonce) <= NONCE_SIZE_MAX:
        raise LoginFailed("the name or the nonce is empty or too long", user[:NAME_SIZE_MAX])
    if any(each.startswith(("m=", "tokenauth=")) for each in fields[2:]):
        raise LoginFailed("the first message asks for delegation tokens or an extension, and neither is offered", user)
    return ClientFirst(user, nonce, bare)


def server_first(first: ClientFirst, known: Verifier | None, fake: Verifier, ours: str) -> tuple[Exchange, bytes]:
    """The answer to it. `ours` is our part of the nonce, drawn for this login; `fake` is for a user nobody knows."""
    verifier = fake if known is None else known
    nonce = first.nonce + ours
    message = f"r={nonce},s={b64encode(verifier.salt).decode()},i={verifier.iterations}"
    return Exchange(first.user, known is not None, verifier, nonce, f"{first.bare},{message}"), message.encode()


def server_final(exchange: Exchange, data: bytes) -> bytes:
    """The answer to the second message: who they are is proven. Raises LoginFailed, for every cause alike."""
    text = _text(data)
    bare, found, proof_text = text.rpartition(",p=")
    fields = bare.split(",")
    if not found or len(fields) < 2 or fields[0][:2] != "c=" or fields[1][:2] != "r=":
        raise LoginFailed("the second message has no binding, nonce and proof where they belong", exchange.user)
    if _decoded(fields[0][2:]).decode("utf-8", "replace").split(",")[0] not in ("n", "y"):
        raise LoginFailed("the second message binds to a channel", exchange.user)
    if not fields[1][2:].endswith(exchange.nonce):
        raise LoginFailed("the nonce is not the one of this login", exchange.user)
    hash_name = MECHANISMS[exchange.verifier.mechanism]
    said = f"{exchange.said},{bare}".encode()
    signature = _hmac(hash_name, exchange.verifier.stored_key, said)
    proof = _decoded(proof_text)
    is_right = len(proof) == len(signature) and hmac.compare_digest(
        _hash(hash_name, _xor(proof, signature)), exchange.verifier.stored_key
    )
    if not (is_right and exchange.is_known):
        why = "the password is wrong" if exchange.is_known else "there is no such user"
        raise LoginFailed(why, exchange.user)
    return b"v=" + b64encode(_hmac(hash_name, exchange.verifier.server_key, said))


@dataclass(frozen=True, slots=True)
class ScramClient:
    """A client's login."""

    mechanism: str
    user: str
    password: Secret
    nonce: str

    @property
    def bare(self) -> str:
        return f"n={_escaped(self.user)},r={self.nonce}"

    def first(self) -> bytes:
        return (_NO_BINDING + self.bare).encode()

    def final(self, server_first: bytes) -> tuple[bytes, bytes]:
        """The second message, and the server's answer if it is who it says. Takes milliseconds. Raises LoginFailed."""
        text = _text(server_first)
        fields = dict(each.split("=", 1) for each in text.split(",") if "=" in each)
        if "e" in fields or not {"r", "s", "i"} <= fields.keys():
            raise LoginFailed("the server did not send nonce, salt and iterations", self.user)
        if not fields["r"].startswith(self.nonce) or len(fields["r"]) <= len(self.nonce):
            raise LoginFailed("the server's nonce does not begin with ours", self.user)
        iterations = int(fields["i"]) if fields["i"].isdecimal() and len(fields["i"]) <= _DIGITS_MAX else 0
        if not ITERATIONS_MIN <= iterations <= _ASKED_MAX:
            raise LoginFailed(f"the server asks for {fields['i'][:20]} iterations", self.user)
        hash_name = MECHANISMS[self.mechanism]
        salted = salt_password(hash_name, self.password, _decoded(fields["s"]), iterations)
        bare = f"c={b64encode(_NO_BINDING.encode()).decode()},r={fields['r']}"
        said = f"{self.bare},{text},{bare}".encode()
        client_key = _hmac(hash_name, salted, b"Client Key")
        proof = _xor(client_key, _hmac(hash_name, _hash(hash_name, client_key), said))
        signature = _hmac(hash_name, _hmac(hash_name, salted, b"Server Key"), said)
        return f"{bare},p={b64encode(proof).decode()}".encode(), b"v=" + b64encode(signature)

    def check(self, expected: bytes, server_final: bytes) -> None:
        """Whether the server knows the password, too. Raises LoginFailed."""
        if not hmac.compare_digest(expected, server_final):
            raise LoginFailed("the server did not prove that it knows the user", self.user)


def _hmac(hash_name: str, key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, hash_name)


def _hash(hash_name: str, data: bytes) -> bytes:
    return hashlib.new(hash_name, data).digest()


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise LoginFailed("the message is not UTF-8") from None


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (NotBase64, ValueError):
        raise LoginFailed("the message has something that is not base64") from None


def _escaped(user: str) -> str:
    return user.replace("=", "=3D").replace(",", "=2C")


def _unescaped(name: str) -> str:
    if name.count("=") != name.count("=3D") + name.count("=2C"):
        raise LoginFailed("the name is not written as it should be")
    return name.replace("=2C", ",").replace("=3D", "=")
