"""The settings: few, in sections, with units last in their names. An unknown one is an error.

A setting is named `section.name`; those of the broker have Kafka's names, such as `num.partitions`. Later sources win
over earlier ones:

    1. the defaults          of each section's class
    2. a file                [wal]                 in TOML, or section.name=value in one that is called .properties
                             name = value
    3. the environment       HOLDFAST_WAL_NAME=value
    4. the command line      --set wal.name=value

As text, sizes and times may have a unit: wal.chunk_size_max=64MiB, log.retention.ms=7d.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, get_type_hints

from holdfast.broker.configs.kafka import FOREIGN
from holdfast.broker.settings import OVERRIDE, BrokerSettings, kafka_name
from holdfast.cluster.settings import ClusterSettings
from holdfast.console.settings import ConsoleSettings
from holdfast.errors import Rejected, nearest
from holdfast.io.objects.settings import StoreSettings
from holdfast.log.settings import JournalSettings, LogSettings
from holdfast.security.properties import load_properties, resolve
from holdfast.security.secret import Secret, is_secret
from holdfast.subscribe.settings import SubscribeSettings
from holdfast.units import parse_size, parse_time

ENVIRONMENT_PREFIX = "HOLDFAST_"
FILE_VARIABLE = "HOLDFAST_CONFIG"  # Names the file itself, so it is no setting.
NO_SETTINGS = (FILE_VARIABLE, "HOLDFAST_BOOTSTRAP", "HOLDFAST_NATIVE")  # For commands that ask a broker; for `native`.
_OF_A_SERVICE = re.compile(r"HOLDFAST_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?)")

_OF_A_BUCKET = re.compile(r"[A-Za-z0-9]{2,}:/")


class UnknownSetting(Rejected):
    """A source names a setting that does not exist."""

    def __init__(self, name: str, source: str, known: Iterable[str]) -> None:
        super().__init__(f"{source} sets {name}, which is no setting{nearest(name, known)}")
        self.name = name
        self.source = source


class BadSetting(Rejected):
    """A setting has a value that is not of its type, or that its section does not accept."""

    def __init__(self, name: str, source: str, value: object, expected: str) -> None:
        super().__init__(f"{source} sets {name} to {value!r}, but it must be {expected}")
        self.name = name
        self.source = source
        self.value = value
        self.expected = expected


class SecretOnCommandLine(Rejected):
    """A secret stands where everybody on the machine can read it."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"--set {name}: everybody on this machine can read a command line (ps): put it into the file of --config, "
            f"or name where it is: --set '{name}=…${{file:/path:key}}…' or ${{env:NAME}}"
        )
        self.name = name


@dataclass(frozen=True)
class ServeSettings:
    """What `holdfast serve` needs to start."""

    data_path: str = "data"  # The directory that holds everything the broker keeps on this machine.
    listen: str = "127.0.0.1:9092"  # The address of the Kafka port; port 0 takes a free one.
    advertise: str = ""  # The address that clients are told; empty: the one that is listened on.
    store: str = ""  # Where segments go: a path, s3://bucket/prefix, gs://… or az://…; empty: objects in data_path.
    take_over: bool = False  # Whether a new write-ahead log may go on with a store that holds partitions already.
    disk_reserve_size: int = 128 << 20  # Bytes of the disk kept for the way back when it is full; 0 keeps none.
    metrics_listen: str = ""  # HOST:PORT or LISTENER://HOST:PORT of the metrics; port 0 takes a free one; empty: none.
    console_listen: str = ""  # HOST:PORT or LISTENER://HOST:PORT of the console; port 0 takes a free one; empty: none.
    ends_with_stdin: bool = False  # Whether to stop when stdin is closed: a child ends with whoever started it.
    log_level: str = "info"  # How much is told on stderr: debug, info, warning or error.
    log_format: str = "text"  # How it is told: text for people, json for machines.

    def __post_init__(self) -> None:
        if not self.data_path.strip():
            raise ValueError("data_path must name a directory")
        if _OF_A_BUCKET.match(self.data_path):
            raise ValueError("data_path must be a directory here; a bucket is named by --store (serve.store)")
        if self.log_level not in ("debug", "info", "warning", "error"):
            raise ValueError("log_level must be debug, info, warning or error")
        if self.log_format not in ("text", "json"):
            raise ValueError("log_format must be text or json")
        if self.disk_reserve_size < 0:
            raise ValueError("disk_reserve_size must not be negative")


@dataclass(frozen=True)
class Settings:
    """All sections. A section belongs to the package that uses it."""

    serve: ServeSettings = field(default_factory=ServeSettings)
    store: StoreSettings = field(default_factory=StoreSettings)
    wal: JournalSettings = field(default_factory=JournalSettings)
    log: LogSettings = field(default_factory=LogSettings)
    broker: BrokerSettings = field(default_factory=BrokerSettings)
    subscribe: SubscribeSettings = field(default_factory=SubscribeSettings)
    console: ConsoleSettings = field(default_factory=ConsoleSettings)
    cluster: ClusterSettings = field(default_factory=ClusterSettings)


class Given(NamedTuple):
    """One value from one source; from the environment and the command line it is text."""

    name: str
    value: object
    source: str


def load(
    file: Path | None,
    environment: Mapping[str, str],
    assignments: Iterable[str],
    options: Mapping[str, str] = MappingProxyType({}),
) -> Settings:
    """The settings from all sources; `options` are those of the command line that are short for a setting."""
    given = [
        *(from_file(file) if file else ()),
        *from_environment(environment),
        *from_assignments(assignments, options),
    ]
    return build(_fetched(each, environment) for each in given)


def _fetched(given: Given, environment: Mapping[str, str]) -> Given:
    """With the value that `${file:/path:key}` or `${env:NAME}` names."""
    if not isinstance(given.value, str) or "${" not in given.value:
        return given
    return given._replace(value=resolve({given.name: given.value}, environment)[given.name])


def from_file(path: Path) -> list[Given]:
    """The settings in a file: Kafka's format if its name ends with .properties, TOML otherwise."""
    if path.suffix == ".properties":
        return [Given(name, value, str(path)) for name, value in load_properties(str(path)).items()]
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as failure:
        raise Rejected(f"{path} is no TOML file: {failure}") from None
    return [Given(name, value, str(path)) for name, value in _flat(document, "")]


def _flat(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, object]]:
    """The values of a table and the tables in it, under dotted names."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def from_environment(environment: Mapping[str, str]) -> list[Given]:
    """The settings in variables that start with HOLDFAST_, without those of a Kubernetes service of that name."""
    names = {variable_of(name): name for name in known()}
    return [
        Given(names.get(variable, variable), value, "the environment")
        for variable, value in sorted(environment.items())
        if variable.startswith(ENVIRONMENT_PREFIX) and variable not in NO_SETTINGS
        if variable in names or not _OF_A_SERVICE.fullmatch(variable)
    ]


def from_assignments(assignments: Iterable[str], options: Mapping[str, str] = MappingProxyType({})) -> list[Given]:
    """The settings in `section.name=value` texts."""
    given = []
    for assignment in assignments:
        name, sign, value = assignment.partition("=")
        if not sign:
            raise Rejected(f"--set {assignment} must be --set section.name=value")
        if is_secret(name.strip()) and _has_secret(value):
            raise SecretOnCommandLine(name.strip())
        given.append(Given(name.strip(), value.strip(), options.get(name.strip(), "--set")))
    return given


def _has_secret(value: str) -> bool:
    """Whether a secret setting has one in line: it does not say where it is, and is no login module without options."""
    return bool(value.strip()) and "${" not in value and not ("LoginModule" in value and "=" not in value)


class SettingPlace(NamedTuple):
    """Where a setting is kept, and its type."""

    section: str
    field: str
    type: Any


def known() -> dict[str, SettingPlace]:
    """Every setting by its name."""
    return {
        name_of(section, each): SettingPlace(section, each, wanted)
        for section, kind in get_type_hints(Settings).items()
        for each, wanted in get_type_hints(kind).items()
        if wanted in _PARSERS
    }


def name_of(section: str, each: str) -> str:
    """The name of a section's field."""
    return kafka_name(each) if section == "broker" else f"{section}.{each}"


def variable_of(name: str) -> str:
    """The environment variable of a setting."""
    return ENVIRONMENT_PREFIX + name.replace(".", "_").upper()


def build(given: Iterable[Given]) -> Settings:
    """Settings with the given values, each checked."""
    places = known()
    sections: dict[str, dict[str, object]] = {}
    last: dict[str, Given] = {}  # By section, and by section and field.
    given = list(given)
    _refuse_foreign(given)
    for each in given:
        if each.name.startswith(OVERRIDE):
            overrides = sections.setdefault("broker", {}).setdefault("listener_overrides", {})
            assert isinstance(overrides, dict)
            overrides[each.name] = Secret(str(each.value)) if is_secret(each.name) else str(each.value)
            last["broker"] = each
            continue
        if each.name not in places:
            raise UnknownSetting(each.name, each.source, places)
        section, name, wanted = places[each.name]
        sections.setdefault(section, {})[name] = _not_below(section, each, _convert(each, wanted))
        last[section] = last[f"{section}.{name}"] = each
    made = {}
    for section, values in sections.items():
        try:
            made[section] = _section_type(section)(**values)
        except ValueError as failure:
            guilty = last.get(f"{section}.{str(failure).partition(' ')[0]}", last[section])
            raise Rejected(f"{guilty.source} sets {section} wrongly: {failure}") from None
    settings = Settings(**made)
    _check_ports(settings)
    _check_cluster(settings)
    return settings


def _refuse_foreign(given: Iterable[Given]) -> None:
    """Kafka's settings that mean nothing here are not taken, or somebody would rely on them."""
    foreign = [each for each in given if each.name in FOREIGN]
    if foreign:
        reasons = "; ".join(f"{each.name} ({FOREIGN[each.name].reason})" for each in foreign)
        raise Rejected(f"{foreign[0].source} sets what is no setting here; remove {reasons}")


def _check_ports(settings: Settings) -> None:
    """There is one place that says where to listen."""
    short, serve = ServeSettings(), settings.serve
    if settings.broker.listeners and (serve.listen, serve.advertise) != (short.listen, short.advertise):
        raise Rejected("listeners is set, and serve.listen or serve.advertise (--listen, --advertise) too: keep one")


def _check_cluster(settings: Settings) -> None:
    """Who takes over has only the store."""
    if not settings.cluster.member:
        return
    if settings.wal.place != "store":
        raise Rejected("cluster.member needs wal.place=store: what is on a broker's disk is lost to the others")
    if not settings.serve.store:
        raise Rejected("cluster.member needs serve.store (--store): all brokers of a cluster share it")


def _section_type(section: str) -> Any:
    return get_type_hints(Settings)[section]


def _convert(given: Given, wanted: Any) -> object:
    value = given.value
    if isinstance(value, str):
        return _parse(given, value, wanted)
    if wanted is float and type(value) is int:
        return float(value)
    if type(value) is wanted:
        return value
    raise BadSetting(given.name, given.source, value, _EXPECTED[wanted])


def _not_below(section: str, given: Given, value: object) -> object:
    """No count, size or time is negative; Kafka's own may be -1, which is none or for ever."""
    least = -1 if section == "broker" else 0
    if type(value) is int and value < least:
        raise BadSetting(given.name, given.source, given.value, f"{least} or more")
    return value


def _parse(given: Given, text: str, wanted: type) -> object:
    parse, expected = _PARSERS[wanted], _EXPECTED[wanted]
    if wanted is int:
        parse, expected = _quantity_of(given.name)
    try:
        return parse(text)
    except (ValueError, KeyError):
        raise BadSetting(given.name, given.source, text, expected) from None


def _quantity_of(name: str) -> tuple[Callable[[str], int], str]:
    """How a number is read: its unit is in the setting's name."""
    words = re.split(r"[._]", name)
    unit_ms = next((size for word, size in _TIME_WORDS.items() if word in words), 0)
    if unit_ms:
        return partial(parse_time, unit_ms=unit_ms), "a time such as 500ms, 30s, 5m, 2h or 7d, or a whole number"
    if "bytes" in words or ("size" in words and not name.startswith("group.")):
        return parse_size, "a size such as 64MiB, 1GB or 512k, or a whole number"
    return int, _EXPECTED[int]


_TIME_WORDS = {"ms": 1, "seconds": 1000, "minutes": 60_000}


_PARSERS: dict[type, Any] = {
    str: str,
    int: int,
    float: float,
    bool: {"true": True, "false": False}.__getitem__,
    Secret: Secret,
}
_EXPECTED: dict[type, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    Secret: "text",
}
