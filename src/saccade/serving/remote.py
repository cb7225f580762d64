"""Pictures by ``https://`` address, where the server was allowed to fetch them: from public hosts alone.

A client could otherwise let the server look around in networks that only the server reaches.
"""

import ipaddress
import socket
from urllib.parse import urlsplit

import httpx

from saccade.serving.pictures import FetchPicture
from saccade.serving.questions import AskedWrongError
from saccade.serving.settings import AgentServerSettings

_FETCH_S = 20.0


def fetch_picture(settings: AgentServerSettings) -> FetchPicture:
    """Fetches within the size of a body and 20 s, by the address that was checked, and follows no redirect."""
    most = settings.max_body_mb << 20
    client = httpx.Client(timeout=_FETCH_S, follow_redirects=False, trust_env=False)

    def fetch(url: str) -> bytes:
        parts = _parts(url)
        address = public_address(parts.host, parts.port)
        # By address, so that the name cannot mean another machine by now; the certificate is checked by name.
        by_address = httpx.URL(url).copy_with(host=address)
        headers = {"Host": parts.host, "Accept": "image/*", "User-Agent": "saccade"}
        try:
            with client.stream("GET", by_address, headers=headers, extensions={"sni_hostname": parts.host}) as reply:
                if reply.status_code != 200:
                    raise _refused(f"{parts.host} answered with status {reply.status_code}")
                raw = bytearray()
                for piece in reply.iter_bytes():
                    raw += piece
                    if len(raw) > most:
                        raise _refused(f"the picture at {parts.host} has more than {most} bytes")
                return bytes(raw)
        except httpx.HTTPError as error:
            raise _refused(f"{parts.host} gave no picture ({type(error).__name__})") from None

    return fetch


class _Parts:
    def __init__(self, host: str, port: int) -> None:
        self.host = host
        self.port = port


def _parts(url: str) -> _Parts:
    try:
        split = urlsplit(url)
        host, port = split.hostname, split.port or 443
    except ValueError:
        host, port = None, 443
    if not host or split.username is not None:
        raise _refused(f"{url[:60]!r} is no address of a picture")
    return _Parts(host, port)


def public_address(host: str, port: int) -> str:
    """An address of the host; ``AskedWrongError`` unless all of them are public."""
    try:
        found = {str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
    except (OSError, UnicodeError):
        raise _refused(f"there is no host {host[:60]!r}") from None
    if not found or not all(ipaddress.ip_address(address.partition("%")[0]).is_global for address in found):
        raise _refused(f"{host[:60]!r} is no public host")
    return sorted(found)[0]


def _refused(message: str) -> AskedWrongError:
    return AskedWrongError(message, "messages", code="invalid_image_url")
