r"""Kafka's `.properties` files, as Java reads them, and the places that their values may name.

    name=value      also `name: value` and `name value`; `#` or `!` begins a comment; a `\` at the end of a line goes
                    on in the next; `\t \n \r \f \uXXXX`, and `\` before anything else is that character itself
    ${file:/path:key}     the value of `key` in another such file
    ${env:NAME}           an environment variable

Two things are not as in Java. The text is UTF-8, as other clients have it, not ISO 8859-1. A name that is there twice
is refused: which of the two counts, nobody should have to know.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from holdfast.security.errors import BadSetting
from holdfast.security.files import read_within

SIZE_MAX: Final = 1 << 20  # Bytes of a file.

_BLANK = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_UNICODE = re.compile(r"[0-9A-Fa-f]{4}")
_PLACE = re.compile(r"\$\{([^}:]*):([^}]*)\}")


def parse_properties(text: str, where: str = "") -> dict[str, str]:
    """The names and values of a file's text. `where` is said in errors."""
    found: dict[str, str] = {}
    for number, line in _logical_lines(text):
        try:
            name, value = _split(line)
        except ValueError as failure:
            raise BadSetting(_at(where, number), str(failure)) from None
        if name in found:
            raise BadSetting(name, f"it is said a second time in {_at(where, number)}: remove one of the two")
        found[name] = value
    return found


def load_properties(path: str) -> dict[str, str]:
    """A file's names and values, as they are written there: `resolve` fetches those that name another place."""
    return parse_properties(_read(path), path)


def resolve(values: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """The values with every `${file:…}` and `${env:…}` replaced. What comes from there is not looked into again."""
    read: dict[str, dict[str, str]] = {}

    def from_file(name: str, content: str) -> str:
        path, colon, key = content.rpartition(":")
        if not colon or not path:
            raise BadSetting(name, "a file is named ${file:/path:key}")
        if path not in read:
            read[path] = load_properties(path)
        if key not in read[path]:
            raise BadSetting(name, f"{path} has no {key}")
        return read[path][key]

    def from_env(name: str, content: str) -> str:
        if content not in environ:
            raise BadSetting(name, f"there is no environment variable {content}")
        return environ[content]

    providers = {"file": from_file, "env": from_env}
    return {name: _resolved(name, value, providers) for name, value in values.items()}


def _resolved(name: str, value: str, providers: Mapping[str, Callable[[str, str], str]]) -> str:
    def fetch(match: re.Match[str]) -> str:
        provider = providers.get(match[1])
        if provider is None:
            raise BadSetting(name, f"there is no provider {match[1]!r}: write ${{file:/path:key}} or ${{env:NAME}}")
        return provider(name, match[2])

    return _PLACE.sub(fetch, value)


def _read(path: str) -> str:
    data = read_within(path, SIZE_MAX, lambda why: BadSetting(path, f"it {why}"))
    try:
        return data.decode("utf-8-sig")  # Some editors put a mark before the first word.
    except UnicodeDecodeError as failure:
        raise BadSetting(path, f"byte {failure.start} is not UTF-8") from None  # Its text would show what is there.


def _at(where: str, number: int) -> str:
    return f"{where}:{number}" if where else f"line {number}"


def _logical_lines(text: str) -> list[tuple[int, str]]:
    """Each with the number of its first line: without comments, with those that go on joined."""
    lines: list[tuple[int, str]] = []
    goes_on = False
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        stripped = line.lstrip(_BLANK)
        if goes_on:
            first, before = lines.pop()
            joined = before + stripped
        elif not stripped or stripped[0] in "#!":
            continue
        else:
            first, joined = number, stripped
        goes_on = _ends_open(stripped)
        lines.append((first, joined[:-1] if goes_on else joined))
    return lines


def _ends_open(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _split(line: str) -> tuple[str, str]:
    end = 0
    while end < len(line) and line[end] not in "=:" + _BLANK:
        end += 2 if line[end] == "\\" else 1
    value = line[end:].lstrip(_BLANK)
    if value[:1] in ("=", ":"):
        value = value[1:].lstrip(_BLANK)
    return _unescaped(line[:end]), _unescaped(value)


def _unescaped(text: str) -> str:
    made: list[str] = []
    at = 0
    while (slash := text.find("\\", at)) >= 0 and slash + 1 < len(text):
        made.append(text[at:slash])
        kind = text[slash + 1]
        at = slash + 2
        if kind == "u":
            digits = _UNICODE.match(text, at)
            if digits is None:
                raise ValueError(r"\u wants four hex digits")
            made.append(chr(int(digits[0], 16)))
            at += 4
        else:
            made.append(_ESCAPES.get(kind, kind))
    made.append(text[at:])
    whole = "".join(made)
    return whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # Two halves are one character.
