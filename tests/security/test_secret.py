"""A secret is a type that cannot print."""

from __future__ import annotations

import copy
import json
import logging
import pickle
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass

import pytest

from holdfast.security.secret import Secret, is_secret

TEXT = "hunter2 and more"


@dataclass(frozen=True)
class Holding:
    password: Secret


@pytest.mark.parametrize("show", [str, repr, ascii, "{}".format, "{!r:>40}".format, "{!s:>40}".format])
@pytest.mark.parametrize("held", [Secret(TEXT), Holding(Secret(TEXT)), [Secret(TEXT)], {"a": Secret(TEXT)}])
def test_no_way_of_printing_shows_it(show: Callable[[object], str], held: object) -> None:
    """X10, X11: whatever is printed reads `…`, alone and inside of others. The test of X11."""
    shown = show(held)
    assert "hunter2" not in shown
    assert "more" not in shown
    assert f"{Secret(TEXT):>3}" == "  …"


def test_it_is_not_pickled_and_not_written_as_json() -> None:
    """X11: it enters no plan, no checkpoint, no cursor by accident."""
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(Holding(Secret(TEXT)))
    with pytest.raises(TypeError):
        json.dumps(asdict(Holding(Secret(TEXT))))
    assert "hunter2" not in json.dumps(asdict(Holding(Secret(TEXT))), default=str)


def test_a_traceback_with_locals_does_not_show_it(caplog: pytest.LogCaptureFixture) -> None:
    """X10: neither a log line nor a traceback that prints every local variable holds it."""
    try:
        _fail(Secret(TEXT))
    except ValueError as failure:
        told = traceback.TracebackException.from_exception(failure, capture_locals=True)
        text = "".join(told.format())
        assert "secret = Secret" in text
        assert "hunter2" not in text
    logging.getLogger("any").warning("with %s and %r", Secret(TEXT), Secret(TEXT))
    assert "hunter2" not in caplog.text


def _fail(secret: Secret) -> None:
    raise ValueError(f"it does not fit: {secret}")


def test_only_reveal_gives_it_away() -> None:
    """X10: and it is a value: equal by its text, copied as itself."""
    assert Secret(TEXT).reveal() == TEXT
    assert Secret(TEXT) == Secret(TEXT) != Secret("other")
    assert Secret(TEXT) != TEXT
    assert copy.deepcopy(Secret(TEXT)) == Secret(TEXT)
    assert not Secret("")
    assert not hasattr(Secret(TEXT), "__dict__")


@pytest.mark.parametrize(
    "name",
    ["ssl.key.password", "sasl.jaas.config", "listener.name.x.plain.sasl.jaas.config", "ssl.keystore.key"],
)
def test_names_say_what_is_secret(name: str) -> None:
    """X10: by its name a setting is known as one that is not shown."""
    assert is_secret(name)
    assert not is_secret("ssl.keystore.location")
