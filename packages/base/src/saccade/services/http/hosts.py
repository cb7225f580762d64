"""Names and addresses of this machine, as servers are told them and browsers send them."""

import ipaddress
import socket


def is_own_name(name: str, listening_on: str) -> bool:
    """Whether a request under this name can only be meant for the server that listens there."""
    if name in ("localhost", listening_on.lower()):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        # A page sent here under a foreign name does not have this machine's.
        return not is_loopback(listening_on) and name in (socket.gethostname().lower(), socket.getfqdn().lower())
    return address.is_loopback or not is_loopback(listening_on)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens there."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
