"""Certificates for tests, made with openssl as an operator would: an authority, and what it has signed."""

from __future__ import annotations

import subprocess
from pathlib import Path

_NAMES = "subjectAltName=DNS:localhost,IP:127.0.0.1"


class Authority:
    """Signs certificates, in a folder of its own."""

    def __init__(self, folder: Path, name: str = "Authority") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.certificate = folder / "ca.pem"  # What others trust.
        self._key = folder / "ca.key"
        _openssl("req", "-x509", *_new_key(self._key), "-out", self.certificate, "-days", "30", "-subj", f"/CN={name}")

    def signed(self, name: str, subject: str, password: str = "") -> Path:
        """A file with a key and its certificate, as `ssl.keystore.location` wants it."""
        key, request, made = (self.folder / f"{name}.{end}" for end in ("key", "csr", "crt"))
        _openssl("req", *_new_key(key, password), "-out", request, "-subj", subject)
        extensions = self.folder / f"{name}.ext"
        extensions.write_text(_NAMES)
        by = ("-CA", self.certificate, "-CAkey", self._key, "-CAcreateserial", "-days", "30", "-extfile", extensions)
        _openssl("x509", "-req", "-in", request, *by, "-out", made)
        whole = self.folder / f"{name}.pem"
        whole.write_bytes(key.read_bytes() + made.read_bytes())
        return whole


def _new_key(path: Path, password: str = "") -> tuple[object, ...]:
    hidden = ("-passout", f"pass:{password}") if password else ("-nodes",)
    return "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-keyout", path, *hidden


def _openssl(*arguments: object) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=60)
