"""A broker with TLS, and what its clients need."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

from tests.broker.wire import Wire
from tests.support.broker_process import BrokerProcess

from holdfast.testing.certificates import AuthorityFolder
from holdfast.testing.ports import free_port


class Secured:
    """A broker with a plain port, one with TLS, and one that wants certificates."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = AuthorityFolder(folder / "ca")
        self.keystore = self.authority.signed("broker", "CN=localhost,O=Tests")
        self.client = self.authority.signed("client", "CN=Reader,OU=Services,O=Tests,C=DE")
        self.plain, self.tls, self.mutual = free_port(), free_port(), free_port()
        file = folder / "server.properties"
        file.write_text(
            f"listeners=PLAINTEXT://127.0.0.1:{self.plain},SSL://127.0.0.1:{self.tls},MUTUAL://127.0.0.1:{self.mutual}\n"
            "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SSL:SSL,MUTUAL:SSL\n"
            f"ssl.keystore.location={self.keystore}\n"
            f"listener.name.mutual.ssl.truststore.location={self.authority.certificate}\n"
            "listener.name.mutual.ssl.client.auth=required\n"
            "listener.name.mutual.ssl.principal.mapping.rules=RULE:^CN=(.*?),OU=Services.*$/$1/L\n"
        )
        options = ["--config", str(file)]
        settings = ["group.initial.rebalance.delay.ms=0", "message.max.bytes=8000000"]
        self.process = BrokerProcess(
            folder / "data", port=self.plain, settings=settings, options=options, sets_listeners=True
        )

    def context(self, *, certificate: Path | None = None) -> ssl.SSLContext:
        made = ssl.create_default_context(cafile=str(self.authority.certificate))
        if certificate is not None:
            made.load_cert_chain(certificate)
        return made

    def connect(self, port: int, context: ssl.SSLContext | None = None) -> ssl.SSLSocket:
        link = socket.create_connection(("127.0.0.1", port), 20)
        return (context or self.context()).wrap_socket(link, server_hostname="localhost")

    def wire(self, port: int, context: ssl.SSLContext | None = None) -> Wire:
        return Wire(port, link=self.connect(port, context))
