"""An issuer of tokens: https, for one client, who shows its id and secret."""

from __future__ import annotations

import json
import ssl
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from tests.support.every_way import MARK, new_token

CLIENT, SECRET = "our-client", MARK + ":of the client"


class Issuer:
    """Counts what it is asked; `lasts_s` is how long the next token is good, whatever it says."""

    def __init__(self, keystore: Path) -> None:
        issuer = self
        self.asked: list[dict[str, list[str]]] = []
        self.lasts_s = 3600.0
        self.status = 200
        expected = "Basic " + b64encode(f"{CLIENT}:{SECRET}".encode()).decode()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                form = self.rfile.read(int(self.headers["Content-Length"])).decode()
                issuer.asked.append(parse_qs(form))
                status = issuer.status if self.headers["Authorization"] == expected else 401
                self.send_response(status)
                self.end_headers()
                token = {"access_token": new_token(issuer.lasts_s), "expires_in": 3600}
                self.wfile.write(json.dumps(token if status == 200 else {"error": SECRET}).encode())

            def log_message(self, *_: Any) -> None:
                pass

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(keystore)
        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"https://localhost:{self._server.server_port}/token"

    @contextmanager
    def running(self) -> Iterator[Issuer]:
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()
