"""A text that cannot be printed: passwords, keys, tokens.

Whatever is printed, logged, formatted or shown in a traceback reads `…`. Only `reveal` gives the text, so that every
place which needs it can be found by that word. It is not pickled and not written as JSON: it never reaches a plan, a
checkpoint or a cursor by accident.
"""

from __future__ import annotations

from hmac import compare_digest
from typing import Final, NoReturn

HIDDEN: Final = "…"
_ENDINGS = ("password", "jaas.config", "ssl.keystore.key", "secret", "assertion.private.key.passphrase")


class Secret:
    """A text that only `reveal` gives away."""

    __slots__ = ("__text",)

    def __init__(self, text: str) -> None:
        self.__text = text

    def reveal(self) -> str:
        return self.__text

    def __bool__(self) -> bool:
        return bool(self.__text)

    def __eq__(self, other: object) -> bool:
        """In the same time whatever the difference is."""
        if not isinstance(other, Secret):
            return NotImplemented
        return compare_digest(_bytes(self), _bytes(other))

    def __hash__(self) -> int:
        return hash(self.__text)

    def __repr__(self) -> str:
        return f"Secret({HIDDEN})"

    def __str__(self) -> str:
        return HIDDEN

    def __format__(self, spec: str) -> str:
        return format(HIDDEN, spec)

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: object) -> Secret:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not pickled: reveal it where it is needed, and make it anew on the other side")


NONE: Final = Secret("")


def _bytes(secret: Secret) -> bytes:
    return secret.reveal().encode("utf-8", "surrogatepass")


def is_secret(name: str) -> bool:
    """Whether a setting's name says that its value must not be shown."""
    return name.endswith(_ENDINGS)
