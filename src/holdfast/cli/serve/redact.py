"""Lines without secrets: what looks like one is left out, whoever wrote it.

Our own secrets are of a type that cannot print; this is for what stores, libraries and clients put into their words.
Clients choose much of the text, so each pattern goes through it once: nothing is tried again from the next character.
"""

from __future__ import annotations

import re
from typing import Final

_KEYS: Final = re.compile(r"-----BEGIN (?=[^-]*PRIVATE KEY)[^-]*+-----.*?(?:-----END[^-]*+-----|\Z)", re.DOTALL)
_SCHEMES: Final = re.compile(r"\b((?i:Bearer|Basic)\s++)(?![a-z]+\b)[^\s,;'\"]++")  # No plain word: "basic knowledge".
_CREDENTIALS: Final = re.compile(r"(?<![a-zA-Z0-9+.-])([a-zA-Z0-9+.-]++://)[^/@\s'\"]++@")
_NAMES: Final = re.compile(r"(?<![a-z0-9_.-])([a-z0-9_.-]++)['\"]?+\s*+[=:]\s*+", re.IGNORECASE)
_SECRET: Final = re.compile(
    r"secret|password|passwd|token|signature|credential|access_?key|private_?key|api_?key|(?:^|[.-])sig$|^user_",
    re.IGNORECASE,
)
_VALUE: Final = re.compile(r"\"(?:[^\"\\]|\\.)*+\"?|'(?:[^'\\]|\\.)*+'?|[^&\s,;'\"}]++", re.DOTALL)


def redacted(text: str) -> str:
    """The text without passwords, tokens, keys and signatures, in URLs, options, headers and JAAS lines."""
    text = _KEYS.sub("… (a private key)", text)
    return _without_values(_SCHEMES.sub(r"\1…", _CREDENTIALS.sub(r"\1…@", text)))


def _without_values(text: str) -> str:
    """`name=…` where the name is one of a secret."""
    parts, start = [], 0
    for name in _NAMES.finditer(text):
        if name.start() < start or not _SECRET.search(name[1]):
            continue
        value = _VALUE.match(text, name.end())
        if value is not None:
            parts += [text[start : name.end()], "…"]
            start = value.end()
    return "".join([*parts, text[start:]])
