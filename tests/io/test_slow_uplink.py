"""A remote store behind a slow line: a put has the time that its bytes need."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.faulty_proxy import FaultyProxy
from tests.support.s3_server import S3Server

from holdfast.errors import Rejected
from holdfast.io.objects import Objects, StoreTimedOut
from holdfast.io.objects.open import open_objects

pytestmark = pytest.mark.s3

BODY = b"slow" * 400_000
LIMITS = {"connect_timeout_ms": 500, "request_timeout_ms": 500, "retries": 0, "retry_timeout_ms": 500}


@pytest.fixture
def proxy(s3_server: S3Server) -> Iterator[FaultyProxy]:
    with FaultyProxy(s3_server.port) as proxy:
        proxy.bytes_per_s = 800_000
        yield proxy


def behind(proxy: FaultyProxy, s3_store: tuple[str, dict[str, str]], **limits: int) -> Objects:
    url, options = s3_store
    return open_objects(url, options | LIMITS | limits | {"endpoint": proxy.endpoint})


def test_a_put_has_the_time_of_its_bytes(proxy: FaultyProxy, s3_store: tuple[str, dict[str, str]]) -> None:
    """D4: 1.6 MB take two seconds at 0.8 MB/s, four times as long as any other call may."""
    store = behind(proxy, s3_store, put_bytes_per_s_min=200_000)
    store.put_if_absent("a", [BODY[:7], BODY[7:]])
    store.put("b", [BODY])
    assert store.size("a") == store.size("b") == len(BODY)


def test_a_put_that_is_too_slow_is_a_timeout(proxy: FaultyProxy, s3_store: tuple[str, dict[str, str]]) -> None:
    """D4: and said to be one, since less at a time may get through."""
    store = behind(proxy, s3_store, put_bytes_per_s_min=20_000_000)
    with pytest.raises(StoreTimedOut, match="timed out"):
        store.put_if_absent("a", [BODY])


@pytest.mark.parametrize("name", ["put_bytes_per_s_min", "request_timeout_ms", "connect_timeout_ms"])
def test_limits_are_checked(name: str) -> None:
    with pytest.raises((Rejected, ValueError), match=name):
        open_objects("s3://bucket", {name: 0})
