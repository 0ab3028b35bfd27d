"""A certificate authority in memory: any name, PEM in milliseconds. `certificates` makes files as an operator does."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LONG_AGO = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
FAR_OFF = datetime.datetime(2120, 1, 1, tzinfo=datetime.UTC)
PKCS8 = serialization.PrivateFormat.PKCS8


@dataclass(frozen=True)
class Pair:
    """A certificate and its key."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def chain_pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    def key_pem(self, password: str = "") -> str:
        cipher: serialization.KeySerializationEncryption = serialization.NoEncryption()
        if password:
            cipher = serialization.BestAvailableEncryption(password.encode())
        return self.key.private_bytes(serialization.Encoding.PEM, PKCS8, cipher).decode()

    def pem(self, password: str = "") -> str:
        """Both, as a PEM key store has them."""
        return self.key_pem(password) + self.chain_pem


class MemoryAuthority:
    """Signs certificates that name loopback."""

    def __init__(self, name: str = "test authority") -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        made = _builder(self._name, self._name, key).add_extension(x509.BasicConstraints(True, None), critical=True)
        self.pair = Pair(key, made.sign(key, hashes.SHA256()))

    @property
    def trust_pem(self) -> str:
        return self.pair.chain_pem

    def issue(self, name: str | x509.Name = "localhost", until: datetime.datetime = FAR_OFF) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        if isinstance(name, str):
            name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        places = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
        made = _builder(name, self._name, key, until)
        made = made.add_extension(x509.SubjectAlternativeName(places), critical=False).add_extension(usage, False)
        return Pair(key, made.sign(self.pair.key, hashes.SHA256()))


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, until: datetime.datetime = FAR_OFF
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(LONG_AGO)
        .not_valid_after(until)
    )
