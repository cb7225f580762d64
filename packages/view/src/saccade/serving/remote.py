"""Pictures by ``https://`` address, where the server was allowed to fetch them: from public hosts alone.

A client could otherwise let the server look around in networks that only the server reaches.
"""

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager

import httpx2

from saccade.serving.questions import AskedWrongError
from saccade.serving.settings import AgentServerSettings

FETCH_S = 20.0
_MOST_CONNECTIONS = 64

_GLOBAL_V6 = ipaddress.ip_network("2000::/3")
_SPECIAL = tuple(
    map(
        ipaddress.ip_network,
        (
            # Protocols' own, with Teredo; documentation; 6to4, which leads to an IPv4 address; relays to it.
            *("2001::/23", "2001:db8::/32", "3fff::/20", "2002::/16", "192.88.99.0/24"),
            # Where a cloud answers its own machines, though by its number it is public.
            "168.63.129.16/32",
        ),
    )
)

AddressOf = Callable[[str, int], Awaitable[str]]
"""An address of a host, by its name and port; ``AskedWrongError`` for a host that is not asked."""


def is_public(address: str) -> bool:
    """Whether an address is one of the open internet, and of no private, local, special or translated range."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv6Address) and parsed not in _GLOBAL_V6:
        # Among the others are IPv4 addresses in IPv6 form, also translated ones (64:ff9b::/96).
        return False
    special = any(parsed in network for network in _SPECIAL if network.version == parsed.version)
    return parsed.is_global and not parsed.is_multicast and not special


async def public_address(host: str, port: int) -> str:
    """An address of the host; ``AskedWrongError`` unless all of them are public."""
    try:
        entries = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise _refusal(f"there is no host {host[:60]!r}") from None
    found = {str(entry[4][0]) for entry in entries}
    if not found or not all(map(is_public, found)):
        raise _refusal(f"{host[:60]!r} is no public host")
    return sorted(found)[0]


class PictureFetcher:
    """Fetches pictures for all requests of a server, in one event loop.

    ``trusted`` checks certificates; by default those that httpx2 trusts.
    """

    def __init__(
        self,
        settings: AgentServerSettings,
        *,
        address_of: AddressOf = public_address,
        trusted: ssl.SSLContext | None = None,
        within_s: float = FETCH_S,
    ) -> None:
        self._most_bytes = settings.max_body_mb << 20
        self._together_bytes = settings.uploads_mb << 20
        self._address_of = address_of
        self._within_s = within_s
        self._held_bytes = 0
        self._places = asyncio.Semaphore(_MOST_CONNECTIONS)
        # Below httpx2's client, which keeps cookies. No connection is used twice: one to the same address may have
        # been made for another name.
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
        self._transport = httpx2.AsyncHTTPTransport(verify=trusted or True, limits=limits, trust_env=False)

    @property
    def held_bytes(self) -> int:
        """Of pictures that are being fetched, or whose requests are at work."""
        return self._held_bytes

    @asynccontextmanager
    async def fetched(self, urls: Iterable[str]) -> AsyncIterator[Mapping[str, bytes]]:
        """The files at these addresses, all within 20 s and the size of a body together; redirects are not followed.

        ``AskedWrongError`` for what cannot be fetched.
        """
        coming = {url: bytearray() for url in urls}
        ready: dict[str, bytes] = {}
        try:
            try:
                async with asyncio.timeout(self._within_s), asyncio.TaskGroup() as group:
                    for url in coming:
                        group.create_task(self._fetch(url, coming))
            except TimeoutError:
                raise _refusal(f"the pictures did not come within {self._within_s:g} s") from None
            except ExceptionGroup as failed:
                raise failed.exceptions[0] from None
            while coming:
                url, file = coming.popitem()
                ready[url] = bytes(file)
            yield ready
        finally:
            self._held_bytes -= sum(map(len, [*coming.values(), *ready.values()]))

    async def _fetch(self, url: str, files: Mapping[str, bytearray]) -> None:
        asked = _checked_url(url)
        host = asked.raw_host.decode("ascii")
        async with self._places:
            address = await self._address_of(host, asked.port or 443)
            request = httpx2.Request(
                "GET",
                # By address, so that the name cannot mean another machine by now; the certificate is checked by name.
                asked.copy_with(host=address),
                headers={
                    "Host": asked.netloc.decode("ascii"),
                    "Accept": "image/*",
                    "Accept-Encoding": "identity",
                    "User-Agent": "saccade",
                },
                extensions={"sni_hostname": host},
            )
            try:
                reply = await self._transport.handle_async_request(request)
                try:
                    await self._read(reply, host, files[url], files)
                finally:
                    await reply.aclose()
            except httpx2.HTTPError as error:
                raise _refusal(f"{host[:60]} gave no picture ({type(error).__name__})") from None

    async def _read(self, reply: httpx2.Response, host: str, file: bytearray, files: Mapping[str, bytearray]) -> None:
        if reply.status_code != 200:
            raise _refusal(f"{host[:60]} answered with status {reply.status_code}; redirects are not followed")
        # Unpacked, a few bytes may be any number.
        if reply.headers.get("Content-Encoding", "identity") != "identity":
            raise _refusal(f"{host[:60]} sent its picture packed, which it was not asked to")
        async for piece in reply.aiter_raw():
            if sum(map(len, files.values())) + len(piece) > self._most_bytes:
                raise _refusal(f"the pictures of the request have more than {self._most_bytes} bytes together")
            if self._held_bytes + len(piece) > self._together_bytes:
                message = "too many pictures are being fetched; try again later"
                raise AskedWrongError(message, status=503, code="uploads")
            self._held_bytes += len(piece)
            file += piece

    async def close(self) -> None:
        """Ends all connections."""
        await self._transport.aclose()


def _checked_url(url: str) -> httpx2.URL:
    try:
        asked = httpx2.URL(url)
    except (httpx2.InvalidURL, ValueError):
        raise _refusal(f"{url[:60]!r} is no address of a picture") from None
    if asked.scheme != "https" or not asked.host or asked.userinfo or not 0 < (asked.port or 443) < 1 << 16:
        raise _refusal(f"{url[:60]!r} is no address of a picture")
    return asked


def _refusal(message: str) -> AskedWrongError:
    return AskedWrongError(message, "messages", code="invalid_image_url")
