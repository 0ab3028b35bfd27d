"""Settings: four sources in order, and an unknown or wrong one is an error that says where it came from."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast import config
from holdfast.errors import Rejected
from holdfast.log.settings import JournalSettings
from holdfast.security.secret import Secret

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def write(folder: Path, text: str) -> Path:
    path = folder / "holdfast.toml"
    path.write_text(text)
    return path


def test_without_sources_the_defaults_hold() -> None:
    assert config.load(None, {}, []) == config.Settings()


def test_later_sources_win(tmp_path: Path) -> None:
    file = write(tmp_path, "[wal]\nchunk_size_max = 8192\nspares_max = 7\nmarker_delay_ms = 1\n")
    environment = {"HOLDFAST_WAL_CHUNK_SIZE_MAX": "16384", "HOLDFAST_WAL_SPARES_MAX": "8", "PATH": "/bin"}
    settings = config.load(file, environment, ["wal.chunk_size_max=32_768"])
    assert settings.wal == JournalSettings(chunk_size_max=32768, spares_max=8, marker_delay_ms=1)


def test_each_type_is_read_from_text() -> None:
    settings = config.load(None, {}, ["wal.cache_open_chunk=false", "serve.data_path=/tmp/a=b", "wal.spares_max=3"])
    assert (settings.wal.cache_open_chunk, settings.serve.data_path, settings.wal.spares_max) == (False, "/tmp/a=b", 3)


def test_an_unknown_setting_is_an_error_with_a_hint() -> None:
    with pytest.raises(config.UnknownSetting) as caught:
        config.load(None, {}, ["wal.chunk_size=1"])
    assert str(caught.value) == "--set sets wal.chunk_size, which is no setting, did you mean wal.chunk_size_max?"
    assert (caught.value.name, caught.value.source) == ("wal.chunk_size", "--set")


def test_a_wrong_value_of_an_option_names_the_option() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", "serve", "--wal-place", "stroe"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (
        1,
        "holdfast: --wal-place sets wal wrongly: place must be disk or store\n",
    )


def test_an_unknown_variable_is_an_error() -> None:
    with pytest.raises(config.UnknownSetting, match="the environment sets HOLDFAST_WAL_CHUNK"):
        config.load(None, {"HOLDFAST_WAL_CHUNK": "1"}, [])


def test_the_variable_that_names_the_file_is_no_setting() -> None:
    assert config.load(None, {"HOLDFAST_CONFIG": "x.toml"}, []) == config.Settings()


@pytest.mark.parametrize("text", ["[wall]\nspares_max = 1\n", "spares_max = 1\n", "[wal.deep]\nspares_max = 1\n"])
def test_an_unknown_name_in_the_file_is_an_error_that_names_the_file(tmp_path: Path, text: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(config.UnknownSetting, match=r"holdfast\.toml sets"):
        config.load(file, {}, [])


@pytest.mark.parametrize(
    ("assignment", "expected"),
    [
        ("wal.spares_max=many", "a whole number"),
        ("wal.spares_max=1.5", "a whole number"),
        ("wal.cache_open_chunk=yes", "true or false"),
    ],
)
def test_a_value_of_the_wrong_type_is_an_error(assignment: str, expected: str) -> None:
    with pytest.raises(config.BadSetting, match=f"but it must be {expected}"):
        config.load(None, {}, [assignment])


@pytest.mark.parametrize("value", ["true", "1.5", "[1]"])
def test_a_value_of_the_wrong_type_in_the_file_is_an_error(tmp_path: Path, value: str) -> None:
    file = write(tmp_path, f"[wal]\nspares_max = {value}\n")
    with pytest.raises(config.BadSetting, match=r"holdfast.toml sets wal.spares_max to .* a whole number"):
        config.load(file, {}, [])


def test_a_value_out_of_bounds_is_refused_in_one_sentence() -> None:
    with pytest.raises(Rejected, match="--set sets wal wrongly: chunk_size_max must be 4096 to"):
        config.load(None, {}, ["wal.chunk_size_max=1"])


def test_an_assignment_without_a_value_is_refused() -> None:
    with pytest.raises(Rejected, match=r"must be --set section\.name=value"):
        config.load(None, {}, ["wal.spares_max"])


def test_a_file_that_is_no_toml_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Rejected, match="is no TOML file"):
        config.load(write(tmp_path, "[wal\n"), {}, [])


def test_every_setting_has_its_own_variable_and_a_readable_type() -> None:
    known = config.known()
    assert len({config.variable_of(name) for name in known}) == len(known) > 0
    assert {place.type for place in known.values()} <= {str, int, float, bool, Secret}


def test_settings_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.Settings().serve.data_path = "elsewhere"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ("wal.chunk_size_max=64MiB", 64 << 20),
        ("wal.chunk_size_max=64 mb", 64_000_000),
        ("wal.cache_size_max=1.5GiB", 3 << 29),
        ("log.retention.ms=7d", 7 * 86_400_000),
        ("log.retention.ms=-1", -1),
        ("log.retention.bytes=1TB", 10**12),
        ("subscribe.max_wait_ms=0.5s", 500),
        ("offsets.retention.minutes=2h", 120),
        ("quota.window.size.seconds=1m", 60),
        ("message.max.bytes=1_000_000", 1_000_000),
    ],
)
def test_sizes_and_times_are_read_as_people_write_them(given: str, value: int) -> None:
    settings = config.load(None, {}, [given])
    place = config.known()[given.partition("=")[0]]
    assert getattr(getattr(settings, place.section), place.field) == value


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("wal.chunk_size_max=64min", "a size such as"),
        ("wal.chunk_size_max=0.3b", "a size such as"),
        ("log.retention.ms=7GiB", "a time such as"),
        ("offsets.retention.minutes=90s", "a time such as"),
        ("group.max.size=5k", "a whole number"),
        ("num.partitions=5m", "a whole number"),
    ],
)
def test_a_unit_that_does_not_fit_is_refused(given: str, expected: str) -> None:
    with pytest.raises(config.BadSetting, match=expected):
        config.load(None, {}, [given])


def test_what_a_platform_sets_is_no_setting() -> None:
    """In Kubernetes a service called holdfast gives every container these."""
    of_a_service = {
        "HOLDFAST_SERVICE_HOST": "10.0.0.7",
        "HOLDFAST_SERVICE_PORT": "9092",
        "HOLDFAST_SERVICE_PORT_KAFKA": "9092",
        "HOLDFAST_PORT": "tcp://10.0.0.7:9092",
        "HOLDFAST_PORT_9092_TCP": "tcp://10.0.0.7:9092",
        "HOLDFAST_PORT_9092_TCP_ADDR": "10.0.0.7",
        "HOLDFAST_HEADLESS_SERVICE_HOST": "10.0.0.8",
        "HOLDFAST_BOOTSTRAP": "127.0.0.1:9092",
    }
    assert config.load(None, of_a_service, []) == config.Settings()
    with pytest.raises(config.UnknownSetting):
        config.load(None, {"HOLDFAST_SERVICE_HOSTS": "x"}, [])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ssl.key.password", "hunter2"),
        ("sasl.jaas.config", f'{PLAIN} required user_a="hunter2";'),
        ("listener.name.x.plain.sasl.jaas.config", "hunter2"),
        ("ssl.keystore.key", "-----BEGIN PRIVATE KEY----- hunter2 -----END PRIVATE KEY-----"),
    ],
)
def test_a_secret_does_not_stand_on_a_command_line(name: str, value: str) -> None:
    """X11, X6: `ps` shows it to everybody on the machine; the sentence says where to put it, and not what it is."""
    with pytest.raises(config.SecretOnCommandLine, match="ps") as refused:
        config.load(None, {}, [f"{name}={value}"])
    assert "hunter2" not in str(refused.value)


def test_a_command_line_may_say_where_a_secret_is(tmp_path: Path) -> None:
    """X11: a file or a variable; and a login module without options has none."""
    (tmp_path / "secrets").write_text("key=hunter2\n")
    settings = config.load(None, {"PASS": "hunter3"}, [f"ssl.key.password=${{file:{tmp_path / 'secrets'}:key}}"])
    assert settings.broker.ssl_key_password.reveal() == "hunter2"
    settings = config.load(None, {"PASS": "hunter3"}, [f'sasl.jaas.config={PLAIN} required user_a="${{env:PASS}}";'])
    assert "hunter3" in settings.broker.sasl_jaas_config.reveal()
    module = PLAIN.replace("plain.Plain", "scram.Scram")
    assert config.load(None, {}, [f"sasl.jaas.config={module} required;"]).broker.sasl_jaas_config.reveal()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("log.retention.ms=-2", "--set sets log.retention.ms to '-2', but it must be -1 or more"),
        ("log.wal_size_max=-1", "--set sets log.wal_size_max to '-1', but it must be 0 or more"),
        ("log.flushes_max=0", "--set sets log wrongly: flushes_max must be at least 1"),
    ],
)
def test_what_cannot_be_so_little_is_refused(given: str, sentence: str) -> None:
    with pytest.raises(Rejected, match=re.escape(sentence)):
        config.load(None, {}, [given])
    assert config.load(None, {}, ["log.retention.ms=-1"]).broker.log_retention_ms == -1
