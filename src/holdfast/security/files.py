"""Reading a file that a setting names, within a limit."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.security.errors import BadSetting


def read_within(path: str, size_max: int, refusal: Callable[[str], BadSetting]) -> bytes:
    """The file's bytes. What is wrong with it is told as `refusal` makes it of a predicate: "cannot be read: …"."""
    try:
        with open(path, "rb") as file:
            data = file.read(size_max + 1)
    except OSError as failure:
        raise refusal(f"cannot be read: {failure.strerror}") from failure
    if len(data) > size_max:
        raise refusal(f"has more than {size_max} bytes")
    return data
