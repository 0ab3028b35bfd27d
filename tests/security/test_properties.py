"""Kafka's `.properties` files, as Java reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.security.errors import BadSetting
from holdfast.security.properties import load_properties, parse_properties, resolve


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a=b", {"a": "b"}),
        ("  a  =  b  ", {"a": "b  "}),
        ("a:b\nc d\ne", {"a": "b", "c": "d", "e": ""}),
        ("# no\n! no\n\n \t\na=#yes", {"a": "#yes"}),
        ("a=one,\\\n   two,\\\r\n\tthree", {"a": "one,two,three"}),
        ("a=ends with \\\\\nb=c", {"a": "ends with \\", "b": "c"}),
        ("a\\=b\\:c\\ d=e", {"a=b:c d": "e"}),
        ("a=\\t\\n\\u00fc\\q", {"a": "\t\nüq"}),
        ("a==b=c", {"a": "=b=c"}),
        ("a = : b", {"a": ": b"}),
        ("a=\\\n# not a comment", {"a": "# not a comment"}),
        ("a=\\ud83d\\ude00", {"a": "\N{GRINNING FACE}"}),
        ("a=b\\", {"a": "b"}),
        (
            'sasl.jaas.config=org.x.PlainLoginModule required \\\n  user_a="p=1" \\\n  user_b="q";',
            {"sasl.jaas.config": 'org.x.PlainLoginModule required user_a="p=1" user_b="q";'},
        ),
    ],
)
def test_a_file_is_read_as_java_reads_it(text: str, found: dict[str, str]) -> None:
    """X4: Kafka's own files, with their comments, long lines and escapes."""
    assert parse_properties(text) == found


def _escaped(text: str, *, is_name: bool) -> str:
    """As java.util.Properties.store writes it."""
    made = []
    for at, char in enumerate(text):
        if (char == " " and (is_name or at == 0)) or char in "\\=:#!":
            made.append("\\" + char)
        elif char in "\t\n\r\f":
            made.append({"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"}[char])
        elif not " " <= char <= "~":
            made.append("".join(f"\\u{int.from_bytes(two, 'big'):04x}" for two in _halves(char)))
        else:
            made.append(char)
    return "".join(made)


def _halves(char: str) -> list[bytes]:
    data = char.encode("utf-16-be")
    return [data[at : at + 2] for at in range(0, len(data), 2)]


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@settings(deadline=None)
@given(st.dictionaries(TEXTS.filter(bool), TEXTS, max_size=5))
def test_what_java_writes_is_read_back(values: dict[str, str]) -> None:
    """X4: any names and values, written as `Properties.store` does."""
    text = "\n".join(
        f"{_escaped(name, is_name=True)}={_escaped(value, is_name=False)}" for name, value in values.items()
    )
    assert parse_properties(text) == values


def test_a_name_twice_is_refused_and_said_where() -> None:
    """X4: nothing is accepted and ignored."""
    with pytest.raises(BadSetting, match=r"second time in f:3"):
        parse_properties("a=1\nb=2\na=3", "f")
    with pytest.raises(BadSetting, match=r"f:2: .*hex"):
        parse_properties("a=1\nb=\\u12", "f")


def test_values_come_from_files_and_variables(tmp_path: Path) -> None:
    """X4: as Kafka's config providers write it, also in the middle of a value, and not looked into again."""
    secrets = tmp_path / "secrets.properties"
    secrets.write_text("pw=p:${env:NOT}\n")
    server = tmp_path / "server.properties"
    server.write_text(f"a=x${{file:{secrets}:pw}}y\nb=${{env:HERE}}\nc=${{no}} $5 {{a:b}}\n")
    found = resolve(load_properties(str(server)), {"HERE": "v"})
    assert found == {"a": "xp:${env:NOT}y", "b": "v", "c": "${no} $5 {a:b}"}


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("${file:/nowhere/at/all:k}", "cannot be read"),
        ("${file:/nowhere}", r"\$\{file:/path:key\}"),
        ("${env:GONE}", "no environment variable GONE"),
        ("${vault:x:y}", "no provider 'vault'"),
    ],
)
def test_a_place_that_is_not_there_is_an_error(value: str, why: str) -> None:
    """X4: and it says which."""
    with pytest.raises(BadSetting, match=why):
        resolve({"a": value}, {})


def test_a_file_that_is_no_text_shows_nothing_of_itself(tmp_path: Path) -> None:
    """X10: the error names the byte's place, not the bytes around it."""
    path = tmp_path / "f"
    path.write_bytes(b"password=hunter2\xff")
    with pytest.raises(BadSetting, match="byte 16 is not UTF-8") as caught:
        load_properties(str(path))
    assert "hunter2" not in str(caught.value)


def test_a_mark_before_the_first_word_is_no_part_of_it(tmp_path: Path) -> None:
    """X11: as editors of Windows write a file, lines and all."""
    file = tmp_path / "client.properties"
    file.write_bytes(b"\xef\xbb\xbfsecurity.protocol=SSL\r\na=b\r\n")
    assert load_properties(str(file)) == {"security.protocol": "SSL", "a": "b"}
