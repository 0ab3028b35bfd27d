"""What a query asks for, as values."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.errors import Rejected


def number_in(query: Mapping[str, str], name: str, default: int, least: int = 0, most: int = 2**63 - 1) -> int:
    """Raises Rejected for what is no number, or out of bounds."""
    text = query.get(name, "")
    if not text:
        return default
    try:
        number = int(text)
    except ValueError:
        raise Rejected(f"{name}={text} is no whole number") from None
    if not least <= number <= most:
        raise Rejected(f"{name} must be {least} to {most}, not {number}")
    return number
