"""An authority for tests: certificates for any name, as PEM, in milliseconds, trusted by nobody else."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LONG_AGO = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
_FAR_OFF = datetime.datetime(2120, 1, 1, tzinfo=datetime.UTC)
_PLACES = (x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1")), x509.IPAddress(ip_address("::1")))
_SIGNS = x509.KeyUsage(
    digital_signature=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


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
        form = serialization.PrivateFormat.PKCS8
        return self.key.private_bytes(serialization.Encoding.PEM, form, cipher).decode()

    def pem(self, password: str = "") -> str:
        """Both, as `ssl.keystore.location` wants them."""
        return self.key_pem(password) + self.chain_pem


class Authority:
    """Signs certificates that are good for this machine, of servers and of clients."""

    def __init__(self, name: str = "test authority") -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(name)
        made = _builder(self._name, self._name, key).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        made = made.add_extension(_SIGNS, critical=True)
        self.pair = Pair(key, made.sign(key, hashes.SHA256()))

    @property
    def trust_pem(self) -> str:
        """What others trust."""
        return self.pair.chain_pem

    def issue(
        self,
        name: str | x509.Name = "localhost",
        until: datetime.datetime = _FAR_OFF,
        since: datetime.datetime = _LONG_AGO,
    ) -> Pair:
        """`name` is a common name, or a whole one: `CN=Reader,OU=Services,O=Tests`."""
        key = ec.generate_private_key(ec.SECP256R1())
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
        made = _builder(_named(name), self._name, key, until, since)
        made = made.add_extension(x509.SubjectAlternativeName(_PLACES), critical=False).add_extension(
            usage, critical=False
        )
        signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.pair.key.public_key())
        made = made.add_extension(signer, critical=False)  # Python 3.13 and later insist on it.
        return Pair(key, made.sign(self.pair.key, hashes.SHA256()))


class AuthorityFolder:
    """An authority whose certificates are files."""

    def __init__(self, folder: Path, name: str = "test authority") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.authority = Authority(name)
        self.folder = folder
        self.certificate = folder / "ca.pem"  # What others trust.
        self.certificate.write_text(self.authority.trust_pem)

    def signed(self, file: str, name: str = "localhost", password: str = "") -> Path:
        """A file with a key and its certificate, as `ssl.keystore.location` wants it."""
        path = self.folder / f"{file}.pem"
        path.touch(mode=0o600)
        path.write_text(self.authority.issue(name).pem(password))
        return path


def _named(name: str | x509.Name) -> x509.Name:
    if isinstance(name, x509.Name):
        return name
    if "=" in name:
        return x509.Name.from_rfc4514_string(name)
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    until: datetime.datetime = _FAR_OFF,
    since: datetime.datetime = _LONG_AGO,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(since)
        .not_valid_after(until)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
