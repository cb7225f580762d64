"""Pictures by https: within one limit of time and size, from public hosts, and nothing is left when a client leaves."""

import asyncio
import base64
import datetime
import gzip
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from served_agent import picture, said, serving, shown

from saccade.serving.questions import AskedWrongError
from saccade.serving.remote import PictureFetcher, is_public, public_address
from saccade.serving.settings import AgentServerSettings

HOST = "pictures.example"


def reply_head(status: str = "200 OK", **fields: object) -> bytes:
    lines = [f"HTTP/1.1 {status}", *(f"{name.replace('_', '-')}: {value}" for name, value in fields.items())]
    return "\r\n".join([*lines, "", ""]).encode()


class PictureHost:
    """An https server on loopback that answers each path by a function of its connection, and counts connections."""

    def __init__(self, certificate: str, answers: dict[str, Callable[[ssl.SSLSocket, "PictureHost"], None]]) -> None:
        self.asked: list[bytes] = []
        self.left = threading.Semaphore(0)
        """Released for each connection that its client has ended."""
        self._answers = answers
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate)
        self.trusted = ssl.create_default_context(cafile=certificate)
        threading.Thread(target=self._serve, daemon=True).start()

    def url(self, path: str, host: str = HOST) -> str:
        return f"https://{host}:{self.port}{path}"

    def close(self) -> None:
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        try:
            with self._context.wrap_socket(connection, server_side=True) as stream:
                head = stream.recv(65536)
                self.asked.append(head)
                self._answers[head.split()[1].decode()](stream, self)
        except OSError:
            pass
        finally:
            self.left.release()


def drip(stream: ssl.SSLSocket, host: PictureHost) -> None:
    stream.sendall(reply_head(Content_Length=1000))
    _trickle(stream)


def drip_headers(stream: ssl.SSLSocket, host: PictureHost) -> None:
    stream.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    _trickle(stream)


def _trickle(stream: ssl.SSLSocket) -> None:
    pause = threading.Event()
    for _ in range(3000):
        stream.sendall(b"a")
        pause.wait(0.02)


def sending(head: bytes, body: bytes = b"") -> Callable[[ssl.SSLSocket, PictureHost], None]:
    return lambda stream, host: stream.sendall(head + body)


PNG = base64.b64decode(picture(7).partition(",")[2])
ANSWERS: dict[str, Callable[[ssl.SSLSocket, PictureHost], None]] = {
    "/ok.png": sending(reply_head(Content_Length=len(PNG), Set_Cookie="seen=1"), PNG),
    "/drip": drip,
    "/drip-headers": drip_headers,
    "/redirect": sending(reply_head("302 Found", Location="https://127.0.0.1:22/", Content_Length=0)),
    "/packed": sending(reply_head(Content_Encoding="gzip"), gzip.compress(bytes(64 << 20))),
    "/large": sending(reply_head(), bytes(3 << 20)),
}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "host.pem"
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, *form) + signed.public_bytes(serialization.Encoding.PEM)
    )
    return str(path)


@pytest.fixture
def host(certificate: str) -> Iterator[PictureHost]:
    made = PictureHost(certificate, ANSWERS)
    yield made
    made.close()


async def loopback(host: str, port: int) -> str:
    """Stands for a public address, which a test does not have."""
    return "127.0.0.1"


def fetcher_of(host: PictureHost, within_s: float = 60.0, **settings: int) -> PictureFetcher:
    return PictureFetcher(
        AgentServerSettings(allows_https=True, **settings), address_of=loopback, trusted=host.trusted, within_s=within_s
    )


def fetched(fetcher: PictureFetcher, *urls: str) -> dict[str, bytes]:
    async def all_of() -> dict[str, bytes]:
        try:
            async with fetcher.fetched(urls) as files:
                return dict(files)
        finally:
            await fetcher.close()

    files = asyncio.run(all_of())
    assert fetcher.held_bytes == 0
    return files


def test_a_picture_is_fetched_by_its_name_from_the_address_that_was_checked(host: PictureHost) -> None:
    url = host.url("/ok.png")
    assert fetched(fetcher_of(host), url, url) == {url: PNG}
    assert len(host.asked) == 1
    assert f"Host: {HOST}:{host.port}".encode() in host.asked[0]
    assert b"Accept-Encoding: identity" in host.asked[0]


def test_no_cookie_of_one_picture_is_sent_with_the_next(host: PictureHost) -> None:
    async def twice() -> None:
        fetcher = fetcher_of(host)
        for _ in range(2):
            async with fetcher.fetched([host.url("/ok.png")]) as files:
                assert list(files.values()) == [PNG]
        await fetcher.close()

    asyncio.run(twice())
    assert not any(b"cookie" in head.lower() for head in host.asked)


@pytest.mark.parametrize("path", ["/drip", "/drip-headers"])
def test_a_host_that_drips_is_cut_off_by_one_limit_of_time(host: PictureHost, path: str) -> None:
    with pytest.raises(AskedWrongError, match=r"did not come within 0\.5 s"):
        fetched(fetcher_of(host, within_s=0.5), host.url("/ok.png"), host.url(path))
    assert host.left.acquire(timeout=60)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/redirect", "status 302"),
        ("/packed", "sent its picture packed"),
        ("/large", "more than 1048576 bytes together"),
    ],
)
def test_what_is_no_plain_picture_within_the_limits_is_refused(host: PictureHost, path: str, why: str) -> None:
    with pytest.raises(AskedWrongError, match=why) as refused:
        fetched(fetcher_of(host, max_body_mb=1), host.url(path))
    assert refused.value.status == 400


def test_pictures_of_all_requests_are_bounded_together(host: PictureHost) -> None:
    with pytest.raises(AskedWrongError, match="try again later") as refused:
        fetched(fetcher_of(host, uploads_mb=1), host.url("/large"))
    assert refused.value.status == 503


def test_a_certificate_of_another_name_is_refused(host: PictureHost) -> None:
    with pytest.raises(AskedWrongError, match="gave no picture"):
        fetched(fetcher_of(host), host.url("/ok.png", "other.example"))


@pytest.mark.parametrize(
    "url", ["https://", "https://u:p@pictures.example/", "https://a\x01b/", "https://x:99999/", "https:///"]
)
def test_an_address_that_is_none_is_refused(host: PictureHost, url: str) -> None:
    with pytest.raises(AskedWrongError, match="no address of a picture"):
        fetched(fetcher_of(host), url)


@pytest.mark.parametrize(
    "name",
    ["localhost", "127.0.0.1", "127.1", "2130706433", "0x7f000001", "::1", "64:ff9b::7f00:1", "[", "x" * 300, "\ud83d"],
)
def test_pictures_are_fetched_from_public_hosts_alone(name: str) -> None:
    with pytest.raises(AskedWrongError):
        asyncio.run(public_address(name, 443))


SPECIAL = (
    "0.0.0.0 10.0.0.1 100.64.0.1 127.0.0.1 168.63.129.16 169.254.169.254 172.16.0.1 192.0.0.1 192.0.2.1 "
    "192.88.99.1 192.168.0.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255 "
    ":: ::1 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:8.8.8.8 64:ff9b::7f00:1 64:ff9b::8.8.8.8 "
    "64:ff9b:1::1 100::1 2001::1 2001:0:7f00:1:: 2001:10::1 2001:20::1 2001:db8::1 2002:7f00:1:: "
    "2002:808:808:: 3fff::1 5f00::1 fc00::1 fd00::1 fe80::1 fe80::1%lo fec0::1 ff02::1 ff0e::1"
)


@pytest.mark.parametrize("address", SPECIAL.split())
def test_special_addresses_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "8.8.8.8", "2606:4700:4700::1111", "2a00:1450:4001::1", "2400::1"])
def test_addresses_of_the_open_internet_are_public(address: str) -> None:
    assert is_public(str(ip_address(address)))


@contextmanager
def asking_of(url: str, port: int) -> Iterator[socket.socket]:
    body = {"model": "demo", "messages": [{"role": "user", "content": [shown(url), said("x")]}]}
    raw = json.dumps(body).encode()
    with socket.create_connection(("127.0.0.1", port)) as connection:
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(raw)}\r\n\r\n".encode()
        connection.sendall(head + raw)
        yield connection


# uvloop collects the torn connection of the client in its own time.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_a_client_that_leaves_ends_the_fetching_of_its_pictures(host: PictureHost) -> None:
    fetcher = fetcher_of(host)
    with serving(fetcher=fetcher, allows_https=True) as agent:
        assert agent.ask([shown(host.url("/ok.png")), said("x")]).status_code == 200
        assert host.left.acquire(timeout=60)
        for _ in range(3):
            with asking_of(host.url("/drip"), int(agent.url.rpartition(":")[2])):
                agent.until(lambda: agent.episodes.open_count == 1)
            assert host.left.acquire(timeout=60)
            agent.until(lambda: agent.episodes.open_count == 0)
        agent.until(lambda: fetcher.held_bytes == 0)
        assert agent.ask([shown(host.url("/ok.png")), said("x")]).status_code == 200
