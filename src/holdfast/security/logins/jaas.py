"""`sasl.jaas.config`: which login module, and its options.

    org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="…" user_bob="…";

Written as Java's configurations are: options are NAME=VALUE, a value with anything but letters, digits and `_.$-/@:` is
in double quotes (with a backslash before a quote or a backslash), and a `;` ends it. There is one module, as in Kafka.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from holdfast.security.errors import BadSetting
from holdfast.security.secret import Secret

SETTING: Final = "sasl.jaas.config"
_PACKAGE = "org.apache.kafka.common.security."
MODULES: Final = {
    _PACKAGE + "plain.PlainLoginModule": "PLAIN",
    _PACKAGE + "scram.ScramLoginModule": "SCRAM",
    _PACKAGE + "oauthbearer.OAuthBearerLoginModule": "OAUTHBEARER",
}
USER: Final = "user_"

_FLAGS = ("required", "requisite", "sufficient", "optional")
_TOKEN = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([\w.$\-/@:]+)|([=;]))', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Jaas:
    """A login module and its options, all of them secret."""

    mechanism: str  # PLAIN, SCRAM or OAUTHBEARER.
    options: Mapping[str, Secret]

    @property
    def users(self) -> dict[str, Secret]:
        """The passwords that a server was given with `user_NAME`."""
        return {name.removeprefix(USER): text for name, text in self.options.items() if name.startswith(USER)}


def parse_jaas(text: str, setting: str = SETTING) -> Jaas:
    """Raises BadSetting, which never shows a value."""
    tokens = _tokens(text, setting)
    if len(tokens) < 3 or tokens[-1] != ("sign", ";"):
        raise BadSetting(setting, 'it is MODULE required NAME="VALUE" …; and ends with a semicolon')
    (kind, module), flag = tokens[0], tokens[1][1]
    if module not in MODULES:
        is_class = kind == "word" and module.endswith("LoginModule")  # Anything else may be a password.
        wrong = f"there is no login module {module}" if is_class else "it does not begin with a login module"
        raise BadSetting(setting, f"{wrong}: there are {', '.join(MODULES)}")
    if flag.lower() not in _FLAGS:
        raise BadSetting(setting, "behind the module comes `required`")
    return Jaas(MODULES[module], _options(tokens[2:-1], setting))


def _tokens(text: str, setting: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at = 0
    end = len(text.rstrip())
    while at < end:
        token = _TOKEN.match(text, at)
        if token is None:
            raise BadSetting(setting, f"character {at + 1} fits nowhere; values with such signs are in double quotes")
        quoted, word, sign = token.groups()
        if quoted is not None:
            found.append(("value", _ESCAPED.sub(r"\1", quoted)))
        else:
            found.append(("word", word) if word is not None else ("sign", sign))
        at = token.end()
    return found


def _options(tokens: list[tuple[str, str]], setting: str) -> dict[str, Secret]:
    options: dict[str, Secret] = {}
    if len(tokens) % 3:
        raise BadSetting(setting, f'option {len(tokens) // 3 + 1} is not written NAME="VALUE"')
    for at in range(0, len(tokens), 3):
        (kind, name), equals, (value_kind, value) = tokens[at : at + 3]
        if kind != "word" or equals != ("sign", "=") or value_kind == "sign":
            raise BadSetting(setting, f'option {at // 3 + 1} is not written NAME="VALUE"')
        if name in options:
            raise BadSetting(setting, f"{name} is there twice")
        options[name] = Secret(value)
    return options
