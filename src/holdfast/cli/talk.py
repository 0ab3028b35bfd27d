"""What the commands say: data on stdout, talk on stderr, both readable without colour."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def tell(sentence: str) -> None:
    """One sentence for the person at the terminal."""
    print(sentence, file=sys.stderr, flush=True)


def give_json(value: object) -> None:
    """One JSON object on one line of stdout."""
    print(json.dumps(value, separators=(",", ":")))


def data_console() -> Console:
    """A console for tables on stdout; no markup or colour is needed to read them."""
    from rich.console import Console  # Here: who prints no table does not wait for it.

    return Console(highlight=False, soft_wrap=True)
