"""The first words of the warm parent, before it imports any library: which of them there are."""

import socket
from typing import NoReturn

from saccade.sandbox import libraries
from saccade.sandbox.wire import receive_frame


def main(control: int, trainer: int) -> NoReturn:
    """Serves the trainer at the other end of the control socket; ``trainer`` is its pidfd, -1 where there is none."""
    channel = socket.socket(fileno=control)
    order, _, _ = receive_frame(channel)
    usable = order["packages"]
    assert isinstance(usable, dict)
    libraries.hide_others(usable)
    # What a library finds beside it, it may load, name in its lists, and behave by.
    from saccade.sandbox.zygote import serve

    serve(channel, trainer, order, usable)
