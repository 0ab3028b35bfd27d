"""What others say over HTTP, asked from a thread: so many bytes, so long, and no redirects."""

from __future__ import annotations

from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Final
from urllib.parse import SplitResult

from holdfast.errors import Rejected, Unavailable

TIMEOUT_S: Final = 3.0


def fetch(at: SplitResult, path: str, headers: Mapping[str, str], size_max: int, who: str) -> tuple[int, bytes]:
    """The status and the body. Raises Unavailable, or Rejected for more than so many bytes."""
    kind = HTTPSConnection if at.scheme == "https" else HTTPConnection
    link = kind(at.hostname or "", at.port, timeout=TIMEOUT_S)
    try:
        link.request("GET", path, headers=dict(headers))
        answer = link.getresponse()
        body = answer.read(size_max + 1)
    except (OSError, HTTPException) as failure:
        raise Unavailable(f"{who} does not answer: {str(failure) or type(failure).__name__}") from None
    finally:
        link.close()
    if len(body) > size_max:
        raise Rejected(f"{who} answers with more than {size_max} bytes")
    return answer.status, body
