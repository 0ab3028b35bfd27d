"""A little schema registry for tests, in a process of its own: as much of Confluent's API as clients use.

It stands in for a real one, of which there is none among the packages that tests may install. Clients of Confluent can
register with it and read from it; Protobuf is compiled by `protoc`, as `format=serialized` asks.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit


class LittleRegistry:
    """Where it is, and how schemas get there."""

    def __init__(self, url: str, process: subprocess.Popen[str]) -> None:
        self.url = url
        self._process = process

    def register(self, subject: str, schema: str, kind: str = "AVRO", references: Any = ()) -> int:
        """The number it has from now on."""
        body = json.dumps({"schema": schema, "schemaType": kind, "references": list(references)}).encode()
        asked = urllib.request.Request(f"{self.url}/subjects/{subject}/versions", body, method="POST")
        with urllib.request.urlopen(asked, timeout=20) as answer:
            return int(json.load(answer)["id"])

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def little_registry(only: str = "") -> Iterator[LittleRegistry]:
    """`only` is the user and the password that may read, with a colon; empty: everybody may."""
    process = subprocess.Popen([sys.executable, __file__, only], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    registry = LittleRegistry(f"http://127.0.0.1:{int(process.stdout.readline())}", process)
    try:
        yield registry
    finally:
        registry.stop()
        process.stdout.close()


class _Kept:
    """All schemas, by their numbers and by subject."""

    def __init__(self) -> None:
        self.by_id: list[dict[str, Any]] = []
        self.subjects: dict[str, list[int]] = {}

    def put(self, subject: str, said: dict[str, Any]) -> int:
        schema = {name: said[name] for name in ("schema", "schemaType", "references") if said.get(name)}
        if schema not in self.by_id:
            self.by_id.append(schema)
        number = self.by_id.index(schema) + 1
        versions = self.subjects.setdefault(subject, [])
        if number not in versions:
            versions.append(number)
        return number

    def serialized(self, schema: dict[str, Any]) -> str:
        if "{" not in schema["schema"]:
            return str(schema["schema"])  # Confluent's own client registers it like this.
        with tempfile.TemporaryDirectory() as folder:
            self._write(Path(folder), "main.proto", schema)
            out = Path(folder) / "out"
            well_known = Path(protoc.__file__).parent / "_proto"
            assert protoc.main(["", f"-I{folder}", f"-I{well_known}", f"--descriptor_set_out={out}", "main.proto"]) == 0
            from google.protobuf.descriptor_pb2 import FileDescriptorSet

            [file] = FileDescriptorSet.FromString(out.read_bytes()).file
            return base64.b64encode(file.SerializeToString()).decode()

    def _write(self, folder: Path, name: str, schema: dict[str, Any]) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(schema["schema"])
        for each in schema.get("references", []):
            self._write(folder, each["name"], self.by_id[self.subjects[each["subject"]][each["version"] - 1] - 1])


def _handler(kept: _Kept, only: str) -> type[BaseHTTPRequestHandler]:
    wanted = "Basic " + base64.b64encode(only.encode()).decode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if only and self.headers["Authorization"] != wanted:
                self._say(401, {"error_code": 401, "message": "Unauthorized"})
                return
            path, parts = urlsplit(self.path), [unquote(each) for each in urlsplit(self.path).path.split("/")[1:]]
            try:
                if parts[:2] == ["schemas", "ids"]:
                    number = int(parts[2])
                else:
                    version = 0 if parts[3] == "latest" else int(parts[3])
                    number = kept.subjects[parts[1]][version - 1]
                if number < 1:
                    raise KeyError(number)
                schema = dict(kept.by_id[number - 1])
            except (KeyError, IndexError):
                self._say(404, {"error_code": 40403, "message": "Schema not found"})
                return
            if "format=serialized" in path.query and schema.get("schemaType") == "PROTOBUF":
                schema["schema"] = kept.serialized(schema)
            self._say(200, schema | ({"id": number} if parts[0] == "subjects" else {}))

        def do_POST(self) -> None:
            said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            subject = unquote(urlsplit(self.path).path.split("/")[2])
            self._say(200, {"id": kept.put(subject, said), "subject": subject, "version": 1, **said})

        def _say(self, status: int, said: dict[str, Any]) -> None:
            body = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


if __name__ == "__main__":
    from grpc_tools import protoc  # Now: whoever asks waits for a few seconds only.

    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(_Kept(), sys.argv[1]))
    print(server.server_port, flush=True)
    server.serve_forever()
