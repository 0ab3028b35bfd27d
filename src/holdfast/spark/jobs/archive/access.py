"""Our store's options in the words of Delta's and Iceberg's own libraries."""

from __future__ import annotations

from collections.abc import Mapping


def delta_options(place: str, options: Mapping[str, str]) -> dict[str, str]:
    """Our store's options in the words of Delta's."""
    if not place.startswith("s3://"):
        return {}
    words = {"endpoint": "AWS_ENDPOINT_URL", "allow_http": "AWS_ALLOW_HTTP"}
    made = {words.get(name, f"AWS_{name.upper()}"): value for name, value in options.items()}
    if made.get("AWS_ENDPOINT_URL", "").startswith("http://"):
        made.setdefault("AWS_ALLOW_HTTP", "true")
    return made


def catalog_properties(place: str, url: str, options: Mapping[str, str]) -> dict[str, str]:
    """A catalog in one file beside the data; for a bucket somebody has to say which catalog it is."""
    if "://" not in place:
        return {"type": "sql", "uri": f"sqlite:///{url.removeprefix('file://')}/catalog.db", "warehouse": url}
    words = {"endpoint": "s3.endpoint", "region": "s3.region"}
    words |= {"access_key_id": "s3.access-key-id", "secret_access_key": "s3.secret-access-key"}
    return {"type": "sql", "warehouse": url} | {words.get(name, name): value for name, value in options.items()}
