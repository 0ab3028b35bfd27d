"""The settings of the console."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from holdfast.security.secret import NONE, Secret

SYNCS_MAX: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleSettings:
    """Who may come, and what they may do. Where it listens is `serve.console_listen`."""

    allow_anonymous: bool = False  # Whether other machines may look without saying who they are.
    write: bool = False  # Whether visitors may change what their rights let them change.
    hosts: str = ""  # More names it is called by, with commas: what a browser sends as Host must be one we know.

    schema_registry: str = ""  # http://HOST:PORT of a schema registry, for values that begin with a schema's number.
    schema_registry_user: str = ""  # Who asks it,
    schema_registry_password: Secret = NONE  # and with which password.
    schema_files: str = ""  # Of topics, with commas: `orders=order.avsc,clicks=clicks.desc:shop.Click`.

    sync_metrics: str = ""  # HOST:PORT of syncs' metrics, with commas: what they say is on the page of subscriptions.

    def __post_init__(self) -> None:
        if any("=" not in each or each.startswith("=") for each in _listed(self.schema_files)):
            raise ValueError("schema_files must be TOPIC=FILE, with commas between them")
        if "@" in self.schema_registry:
            raise ValueError("schema_registry must name no user: schema_registry_user does")
        if len(self.syncs) > SYNCS_MAX or any(not each.rpartition(":")[2].isdecimal() for each in self.syncs):
            raise ValueError(f"sync_metrics must be HOST:PORT, with commas between them, {SYNCS_MAX} at most")

    @property
    def files(self) -> dict[str, str]:
        """Schema files by topic."""
        return {
            topic.strip(): file.strip()
            for topic, _, file in (each.partition("=") for each in _listed(self.schema_files))
        }

    @property
    def syncs(self) -> list[str]:
        return _listed(self.sync_metrics)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(each.lower() for each in _listed(self.hosts))


def _listed(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]
