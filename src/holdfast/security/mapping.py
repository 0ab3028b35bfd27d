"""The name in a certificate, written as Java writes it, and the rules that make a user's name of it.

    ssl.principal.mapping.rules=RULE:^CN=(.*?),OU=Services.*$/$1/,RULE:^CN=(.*?),.*$/$1/L,DEFAULT

The first rule whose pattern matches the whole name counts: `$1` is what its first group holds, a trailing `L` or `U`
makes the result lower or upper case. `DEFAULT` is the whole name. A name that no rule matches is nobody's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from holdfast.errors import Rejected
from holdfast.security.errors import BadSetting

SETTING: Final = "ssl.principal.mapping.rules"
RULES_MAX: Final = 100

_KEYWORDS = {  # Of RFC 2253; all others are written as numbers, their values as bytes.
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
_TEXTS = {0x0C: "utf-8", 0x13: "ascii", 0x14: "latin-1", 0x16: "ascii", 0x1C: "utf-32-be", 0x1E: "utf-16-be"}
_ESCAPED = re.compile(r'[,=+<>#;"\\]')
_RULE = re.compile(
    r"\s*(?:(?P<default>DEFAULT)|RULE:(?P<pattern>(?:\\.|[^\\/])*)/(?P<made>(?:\\.|[^\\/])*)/(?P<case>[LU]?))"
)
_GROUP = re.compile(r"\$(\d)|\\(.)|([^$\\]+)|(.)")


class NobodysName(Rejected):
    """A certificate whose name no rule matches."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no rule of {SETTING} matches {name!r}")
        self.name = name


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: re.Pattern[str]
    made: str
    case: str

    def apply(self, name: str) -> str | None:
        found = self.pattern.fullmatch(name)
        if found is None:
            return None
        made = _filled(self.made, found)
        return made.lower() if self.case == "L" else made.upper() if self.case == "U" else made


@dataclass(frozen=True, slots=True)
class PrincipalMapping:
    """The rules, in order; None is DEFAULT."""

    rules: tuple[_Rule | None, ...] = (None,)

    @classmethod
    def parse(cls, text: str) -> PrincipalMapping:
        return cls(tuple(_parsed(text))) if text.strip() else cls()

    def name_of(self, subject: str) -> str:
        """The user's name of a certificate's; NobodysName if no rule matches."""
        for rule in self.rules:
            name = subject if rule is None else rule.apply(subject)
            if name:
                return name
        raise NobodysName(subject)


def _parsed(text: str) -> Iterator[_Rule | None]:
    at, count = 0, 0
    while at < len(text):
        found = _RULE.match(text, at)
        rest = text[found.end() :].lstrip() if found else ""
        if found is None or (rest and not rest.startswith(",")) or count == RULES_MAX:
            raise BadSetting(
                SETTING, f"from {text[at : at + 40]!r} on it is no rule: write RULE:PATTERN/NAME/ or DEFAULT"
            )
        yield None if found["default"] else _rule(found)
        at, count = len(text) - len(rest.removeprefix(",").lstrip()), count + 1


def _rule(found: re.Match[str]) -> _Rule:
    try:
        pattern = re.compile(found["pattern"])
    except re.error as failure:
        raise BadSetting(SETTING, f"{found['pattern']!r} is no pattern: {failure}") from None
    numbers = [int(each) for each in re.findall(r"\$(\d)", found["made"])]
    if any(number > pattern.groups for number in numbers):
        raise BadSetting(SETTING, f"{found['made']!r} names a group that {found['pattern']!r} does not have")
    return _Rule(pattern, found["made"], found["case"])


def _filled(made: str, found: re.Match[str]) -> str:
    return "".join(
        found[int(number)] or "" if number else escaped or plain or other
        for number, escaped, plain, other in _GROUP.findall(made)
    )


def subject_of(certificate: bytes) -> str:
    """The name of who a certificate in DER form is for, as RFC 2253 has it: the most special part first."""
    _, whole, _ = _element(certificate)
    _, signed, _ = _element(whole)
    parts = list(_elements(signed))
    first = 1 if parts[0][0] == 0xA0 else 0  # Of versions but the first: the version.
    subject = parts[first + 4][1]
    return ",".join("+".join(map(_attribute, _of(each))) for _, each in reversed(list(_elements(subject))))


def _of(names: bytes) -> list[bytes]:
    return [content for _, content in _elements(names)]


def _attribute(data: bytes) -> str:
    (_, number), (kind, value) = _elements(data)
    name = _number(number)
    if name not in _KEYWORDS or kind not in _TEXTS:
        return f"{name}=#{_whole(kind, value).hex()}"
    text = _ESCAPED.sub(lambda match: "\\" + match[0], value.decode(_TEXTS[kind], "replace"))
    if text.startswith(" "):
        text = "\\" + text
    if text.endswith(" ") and len(text) > 2:
        text = text[:-1] + "\\ "
    return f"{_KEYWORDS[name]}={text}"


def _number(data: bytes) -> str:
    """An object identifier: the first byte holds two numbers, the others have seven bits each."""
    numbers, value = [min(data[0] // 40, 2), data[0] - 40 * min(data[0] // 40, 2)], 0
    for byte in data[1:]:
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(value)
            value = 0
    return ".".join(map(str, numbers))


def _whole(kind: int, value: bytes) -> bytes:
    if len(value) < 0x80:
        return bytes([kind, len(value)]) + value
    size = len(value).to_bytes((len(value).bit_length() + 7) // 8, "big")
    return bytes([kind, 0x80 | len(size)]) + size + value


def _elements(data: bytes) -> Iterator[tuple[int, bytes]]:
    while data:
        kind, content, data = _element(data)
        yield kind, content


def _element(data: bytes) -> tuple[int, bytes, bytes]:
    """The first element's kind and content, and what comes behind it."""
    size, start = data[1], 2
    if size & 0x80:
        start = 2 + (size & 0x7F)
        size = int.from_bytes(data[2:start], "big")
    return data[0], data[start : start + size], data[start + size :]
