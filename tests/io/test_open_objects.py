"""From a URL to a store, and what is said when that does not work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.s3_server import S3Server

from holdfast.errors import Rejected
from holdfast.io.objects import NotFound, Objects, StoreFailed
from holdfast.io.objects.open import UnknownStore, open_objects
from holdfast.testing import free_port

QUICK = {"connect_timeout_ms": 1_000, "request_timeout_ms": 1_000, "retries": 0, "retry_timeout_ms": 1_000}


@pytest.mark.parametrize("folder", ["plain", "with space", "per%cent", "ümlaut"])
def test_a_local_store_by_path_and_by_url(tmp_path: Path, folder: str) -> None:
    by_path = open_objects(str(tmp_path / folder))
    by_path.put("a", [b"x"])
    assert by_path.url.startswith("file:///")
    assert open_objects(by_path.url).get("a") == b"x"
    assert open_objects(by_path.url.replace("file://", "file://localhost")).get("a") == b"x"


def test_a_memory_store_is_shared_by_name() -> None:
    open_objects("memory://test-one").put("a", [b"x"])
    assert open_objects("memory://test-one").get("a") == b"x"
    assert open_objects("memory://test-one").url == "memory://test-one"
    with pytest.raises(NotFound):
        open_objects("memory://test-two").get("a")


@pytest.mark.parametrize("url", ["", "ftp://a/b", "http://a/b", "file://host/a", "file://", "memory://", "file:///a?b"])
def test_unknown_urls_are_refused_with_what_is_known(url: str) -> None:
    with pytest.raises(UnknownStore, match=r"s3://bucket/prefix") as caught:
        open_objects(url)
    assert caught.value.url == url


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("s3://", {}),
        ("s3:///prefix", {}),
        ("s3://bucket", {"no_such_setting": "1"}),
        ("gs://bucket", {"no_such_setting": "1"}),
        ("az://container", {"no_such_setting": "1", "account_name": "a"}),
        ("memory://a", {"endpoint": "b"}),
        ("some/path", {"endpoint": "b"}),
    ],
)
def test_wrong_settings_are_refused(url: str, options: dict[str, Any]) -> None:
    with pytest.raises(Rejected):
        open_objects(url, options)


@pytest.mark.parametrize("url", ["s3://bucket/a/b", "s3://bucket", "gs://bucket/a", "az://container/a"])
def test_remote_stores_open_without_a_request(url: str) -> None:
    options = {"account_name": "a", "account_key": "a2V5"} if url.startswith("az") else {}
    options |= {"skip_signature": "true"}
    assert open_objects(url, options).url == url
    assert open_objects(url + "/", options).url == url


@pytest.mark.parametrize("host", ["holdfast.invalid", "10.0.0.1", "127.evil.invalid", "localhost.invalid"])
def test_plain_http_is_for_this_machine_only(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"access_key_id": "a", "secret_access_key": "b"}
    with pytest.raises(Rejected, match="is not encrypted"):
        open_objects("s3://bucket", options | {"endpoint": f"http://{host}"})
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}")
    with pytest.raises(Rejected, match="is not encrypted"):
        open_objects("s3://bucket", options)
    open_objects("s3://bucket", options | {"allow_http": True})
    open_objects("s3://bucket", options | {"endpoint": f"https://{host}"})


def test_a_server_that_is_not_there() -> None:
    """L3: a store that cannot be reached is a retryable error."""
    options = {"endpoint": f"http://127.0.0.1:{free_port()}", "access_key_id": "a", "secret_access_key": "b"}
    check_that_all_fails(open_objects("s3://bucket", options | QUICK))


@pytest.mark.s3
class TestS3:
    def test_settings_come_from_the_environment(
        self, s3_server: S3Server, s3_bucket: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL", s3_server.endpoint)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", s3_server.access_key_id)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", s3_server.secret_access_key)
        monkeypatch.setenv("AWS_REGION", s3_server.region)
        open_objects(f"s3://{s3_bucket}/a").put("b", [b"x"])
        assert open_objects(f"s3://{s3_bucket}").get("a/b") == b"x"

    def test_prefixes_of_a_bucket_are_apart(self, s3_server: S3Server, s3_bucket: str) -> None:
        for prefix in ["one", "one-and-more", "two"]:
            open_objects(f"s3://{s3_bucket}/{prefix}", s3_server.options).put("a", [prefix.encode()])
        one = open_objects(f"s3://{s3_bucket}/one", s3_server.options)
        assert [info.name for info in one.list("")] == ["a"]
        assert one.get("a") == b"one"

    def test_a_bucket_that_is_not_there(self, s3_server: S3Server) -> None:
        """L3: without the bucket nothing is known, least of all that an object is absent."""
        store = open_objects("s3://no-such-bucket", s3_server.options | QUICK)
        for call in (
            lambda: store.get("a"),
            lambda: list(store.list("")),
            lambda: store.put("a", []),
            lambda: store.put_if_absent("a", []),
        ):
            with pytest.raises(StoreFailed):
                call()

    def test_wrong_keys(self, s3_server: S3Server, s3_bucket: str) -> None:
        """L3: being refused is a failure, never an empty answer."""
        options = s3_server.options | {"secret_access_key": "wrong"} | QUICK
        check_that_all_fails(open_objects(f"s3://{s3_bucket}", options))


def check_that_all_fails(store: Objects) -> None:
    for call in (
        lambda: store.get("a"),
        lambda: store.get("a", 5, 9),
        lambda: store.size("a"),
        lambda: list(store.list("")),
        lambda: store.put("a", []),
        lambda: store.put_if_absent("a", []),
        lambda: store.delete("a"),
    ):
        with pytest.raises(StoreFailed):
            call()
