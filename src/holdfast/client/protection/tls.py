"""TLS on a client's socket: the broker's certificate is held against those we trust and the name we asked for.

What is wrong is told in one sentence that says what to do next; trying again would not help.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Iterator, Sequence

from holdfast.client.errors import BrokerLost, TlsFailed
from holdfast.client.protection.secure import CHECK_NAME, PROTOCOL
from holdfast.errors import HoldfastError
from holdfast.io.address import Address
from holdfast.types import Buffer

RECORD: bytes = b"\x15\x03"  # How an alert begins: what whoever speaks TLS says to who does not.
_JOINED_SIZE = 64 << 10  # Buffers smaller than this go together: each call makes a record of its own.
_EXPIRED, _NOT_YET = 10, 9  # OpenSSL's numbers of what is wrong with a certificate.
_OTHER_NAME, _OTHER_ADDRESS = 62, 64


def protected(opened: socket.socket, address: Address, context: ssl.SSLContext | None) -> socket.socket:
    """The socket to speak through, after a handshake if there is TLS. A failure closes it."""
    try:
        return opened if context is None else context.wrap_socket(opened, server_hostname=address.host)
    except OSError as failure:
        opened.close()
        raise failure_of(address, failure) from None
    except BaseException:
        opened.close()
        raise


def is_of_tls(failure: OSError) -> bool:
    return isinstance(failure, ssl.SSLError)


def failure_of(address: Address, failure: OSError) -> HoldfastError:
    """A failure of a connection with TLS as an error that says what to do."""
    if isinstance(failure, ssl.SSLCertVerificationError):
        return TlsFailed(str(address), _of_certificate(address, failure))
    if isinstance(failure, ssl.SSLEOFError | ssl.SSLZeroReturnError) or not isinstance(failure, ssl.SSLError):
        hint = f" in the TLS handshake; if it does not speak TLS, {PROTOCOL} is PLAINTEXT or SASL_PLAINTEXT"
        return BrokerLost(str(address), failure, hint)
    reason = (failure.reason or str(failure)).replace("_", " ").lower()
    if "ALERT" in (failure.reason or ""):
        what = reason.partition("alert ")[2]
        why = f"it refused us ({what}): if it wants a certificate, name one of its authorities in ssl.keystore.location"
        return TlsFailed(str(address), why)
    if failure.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST"):
        return TlsFailed(str(address), f"it does not speak it: set {PROTOCOL} to PLAINTEXT or SASL_PLAINTEXT")
    return TlsFailed(str(address), f"{reason}: compare ssl.enabled.protocols and ssl.cipher.suites with the broker's")


def _of_certificate(address: Address, failure: ssl.SSLCertVerificationError) -> str:
    if failure.verify_code in (_OTHER_NAME, _OTHER_ADDRESS):
        named = f"its certificate is not for {address.host}"
        return f"{named}: use the name that is in it; an empty {CHECK_NAME} would take any"
    if failure.verify_code in (_EXPIRED, _NOT_YET):
        return f"{failure.verify_message}: renew the broker's certificate, or set this machine's clock"
    trust = "name its authority's certificate in ssl.truststore.location"
    return f"nobody whom we trust has signed its certificate ({failure.verify_message}): {trust}"


def joined(buffers: Sequence[Buffer]) -> Iterator[Buffer]:
    """The same bytes in fewer buffers: a TLS socket takes one at a time."""
    small = bytearray()
    for each in buffers:
        if len(each) < _JOINED_SIZE:
            small += each
        if small and (len(each) >= _JOINED_SIZE or len(small) >= _JOINED_SIZE):
            yield small
            small = bytearray()
        if len(each) >= _JOINED_SIZE:
            yield each
    if small:
        yield small


def end(opened: socket.socket) -> None:
    """Close it; whoever listens to TLS is told that this is the end."""
    if isinstance(opened, ssl.SSLSocket):
        with contextlib.suppress(OSError, ValueError):
            opened.settimeout(0)
            opened.unwrap()
    opened.close()
