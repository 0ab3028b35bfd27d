"""Names of topics and groups for a shell that completes them: of the broker that the line names, if it answers soon."""

from __future__ import annotations

from typing import Any

_TIMEOUT_S = 1.0


def topic_names(ctx: Any, incomplete: str) -> list[str]:
    """Topics whose names begin so."""
    return _names(ctx, incomplete, lambda client: client.metadata().topics)


def group_names(ctx: Any, incomplete: str) -> list[str]:
    """Groups whose names begin so."""
    return _names(ctx, incomplete, lambda client: [each.name for each in client.list_groups()])


def _names(ctx: Any, incomplete: str, ask: Any) -> list[str]:
    from pathlib import Path

    from holdfast.cli.terminal.broker import broker_at
    from holdfast.client import Client
    from holdfast.errors import HoldfastError

    said = ctx.params
    config = said.get("config")
    try:
        where = broker_at(said.get("bootstrap"), Path(config) if config else None)
        with Client(where, follow_leaders=False, timeout_s=_TIMEOUT_S, patience_s=0) as client:
            return sorted(each for each in ask(client) if each.startswith(incomplete))
    except (HoldfastError, OSError):
        return []  # Nothing may be said while somebody types.
