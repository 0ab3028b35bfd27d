"""The settings of the console."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleSettings:
    """Who may come, and what they may do. Where it listens is `serve.console_listen`."""

    allow_anonymous: bool = False  # Whether other machines may look without saying who they are.
    write: bool = False  # Whether visitors may change what their rights let them change.
    hosts: str = ""  # More names it is called by, with commas: what a browser sends as Host must be one we know.

    @property
    def names(self) -> frozenset[str]:
        return frozenset(each.strip().lower() for each in self.hosts.split(",") if each.strip())
