"""Requests to a tool server: over connections that stay open, again after failures, images sent once."""

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from urllib.parse import quote

from cachetools import LRUCache

from saccade.codec.codecs import PLAIN_CODEC
from saccade.codec.wrong import BrokenRecordError
from saccade.errors import MachineError, UserError
from saccade.media.encode import png_bytes
from saccade.media.store import MediaStore
from saccade.retries import CircuitBreaker, TryAgainError, asked_wait_s, back_off_s
from saccade.services.client.connection_pool import CONNECTION_ERRORS, ConnectionPool, HttpAnswer
from saccade.services.messages import MESSAGES, CallBody
from saccade.services.refusals import ErrorAbout, ErrorBody
from saccade.types import ImageRef, Json

logger = logging.getLogger(__name__)

FIRST_WAIT_S = 0.05
LONGEST_WAIT_S = 5.0

CONNECT_WITHIN_S = 5.0
ANSWER_MARGIN_S = 2.0
"""A server that was told a deadline answers by then; so much later it is held to be gone."""

KILLED_RETRIES = 1
"""A call that ended two workers may have met two accidents; a call that ends four is at fault itself."""

SHOWN_BYTES = 200

KNOWN_IMAGES = 100_000
"""Number of images remembered to be at the server."""


class SentImages:
    """Hashes of the images that the server has, as far as is known here; one thread at a time sends an image."""

    def __init__(self) -> None:
        self._known: LRUCache[str, None] = LRUCache(KNOWN_IMAGES)
        self._sending: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def add(self, key: str) -> None:
        with self._lock:
            self._known[key] = None

    def forget(self, keys: Sequence[str]) -> None:
        with self._lock:
            for key in keys:
                self._known.pop(key, None)

    @contextmanager
    def alone_with(self, key: str) -> Iterator[bool]:
        """Whether the image is known; where it is not, alone with it, so that it is sent by one."""
        with self._lock:
            is_known = key in self._known
            lock = None if is_known else self._sending.setdefault(key, threading.Lock())
        if lock is None:
            yield True
            return
        with lock:
            with self._lock:
                is_known = key in self._known
            try:
                yield is_known
            finally:
                with self._lock:
                    self._sending.pop(key, None)


_Attempt = Callable[[float], bytes]
"""One try, given the seconds that are left."""


class _KilledError(TryAgainError):
    """The call's workers died."""


class _MissingImagesError(Exception):
    """Images that the server has no more."""

    def __init__(self, hashes: Sequence[str]) -> None:
        super().__init__(f"{len(hashes)} images are missing")
        self.hashes = hashes


class Exchange:
    """Requests to one server, for all threads of this process."""

    def __init__(self, url: str, token: str | None, *, patience_s: float) -> None:
        if not url.startswith(("http://", "https://")):
            raise UserError(f"url={url!r} is no address of a server; it looks like http://127.0.0.1:8400")
        if not patience_s > 0:
            raise UserError(f"patience_s={patience_s} leaves no time; use a positive number")
        self.url = url.rstrip("/")
        self._token = token
        self._patience_s = patience_s
        self._breaker = CircuitBreaker(self.url)
        self._lines = ConnectionPool(self.url, token)
        self._images = SentImages()

    def __deepcopy__(self, memo: dict[int, object]) -> "Exchange":
        """Shared, never copied: environments that hold one may be copied freely."""
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return _exchange, (self.url, self._token, self._patience_s)

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        self._lines.close()

    def has_image(self, key: str) -> None:
        """Take down that the server has an image."""
        self._images.add(key)

    def get(self, path: str) -> bytes:
        """The server's answer; ``MachineError`` when it does not within the patience."""
        return self._persistently(lambda left_s: self._send("GET", path, b"", left_s))

    def call(
        self, name: str, arguments: Mapping[str, Json], images: Sequence[ImageRef], media: MediaStore, *, call_id: str
    ) -> bytes:
        """The text of the result; ``MachineError`` when there is none. All tries have one id, and so one result."""
        request = CallBody(arguments=arguments, images=tuple(image.hash for image in images), call_id=call_id)

        def attempt(left_s: float) -> bytes:
            body = PLAIN_CODEC.text(replace(request, deadline_s=left_s)).encode("ascii")
            for _ in range(2):
                self._send_images(images, media, left_s)
                try:
                    return self._send("POST", f"/tools/{quote(name)}", body, left_s)
                except _MissingImagesError as error:
                    # Evicted, or the server is another one by now: sent again at once, but not for ever.
                    self._images.forget(error.hashes)
            raise TryAgainError("the server does not keep the images that it is sent; give it more image_mb")

        return self._persistently(attempt)

    def _persistently(self, attempt: _Attempt) -> bytes:
        passed = self._breaker.enter()
        ends_s = time.monotonic() + self._patience_s
        tries, kills, why = 0, 0, "there was no time"
        while (left_s := ends_s - time.monotonic()) > 0:
            try:
                answer = attempt(left_s)
            except TryAgainError as error:
                why = str(error)
                tries += 1
                kills += isinstance(error, _KilledError)
                if kills > KILLED_RETRIES:
                    break
                wait_s = _wait_s(tries, error.wait_s)
                if wait_s >= ends_s - time.monotonic():
                    break
                time.sleep(wait_s)
            except BaseException:
                # It answered, and not to be asked again; or its caller has gone.
                self._breaker.succeeded(passed)
                raise
            else:
                self._breaker.succeeded(passed)
                return answer
        if kills > KILLED_RETRIES:
            self._breaker.succeeded(passed)
        else:
            self._breaker.failed(passed)
        raise MachineError(f"{self.url} gave no answer in {tries} tries within {self._patience_s:g} s; last: {why}")

    def _send_images(self, images: Sequence[ImageRef], media: MediaStore, left_s: float) -> None:
        for image in images:
            with self._images.alone_with(image.hash) as is_known:
                if not is_known:
                    raw = png_bytes(media.get(image))
                    self._send("PUT", f"/images/{image.hash}", raw, left_s)
                    self._images.add(image.hash)

    def _send(self, method: str, path: str, body: bytes, left_s: float) -> bytes:
        kind = "image/png" if method == "PUT" else "application/json"
        try:
            with self._lines.line() as line:
                answer = line.request(
                    method,
                    self._lines.path + path,
                    body,
                    kind,
                    connect_s=min(CONNECT_WITHIN_S, left_s),
                    silence_s=left_s + ANSWER_MARGIN_S,
                )
        except CONNECTION_ERRORS as error:
            raise TryAgainError(f"{type(error).__name__}: {error}") from error
        return content_of(answer, self.url)


def content_of(answer: HttpAnswer, url: str) -> bytes:
    """The content of a success; the error that a failure means."""
    if answer.status in (200, 201):
        return answer.content
    try:
        about = MESSAGES.read(ErrorBody, answer.content, "the answer").error
    except BrokenRecordError:
        # A proxy's page, say.
        about = ErrorAbout(message=answer.content[:SHOWN_BYTES].decode("utf-8", "replace"))
    said = f"status {answer.status}: {about.message}"[:500]
    match answer.status, about.kind:
        case 401, _:
            raise UserError(f"{url} refuses the token; give the one that the server was started with as token=")
        case 409, "missing_images":
            raise _MissingImagesError(about.missing)
        case (429 | 502 | 503, _) | (504, ""):
            asked_s = asked_wait_s(answer.headers) if about.retry_after_s is None else about.retry_after_s
            raise TryAgainError(said, asked_s)
        case 500, "killed":
            raise _KilledError(said)
        case _:
            raise MachineError(f"{url}: {said}{'' if about.kind else '; is it a tool server?'}")


def _wait_s(tries: int, asked_s: float | None) -> float:
    """Grows with each try, and is never less than the server asks for."""
    # Not seeded: it changes when a call is made and nothing of what comes of it.
    if asked_s is not None:
        return asked_s * random.uniform(1.0, 1.5)
    seed = random.getrandbits(32)
    return back_off_s(tries - 1, first_wait_s=FIRST_WAIT_S, longest_wait_s=LONGEST_WAIT_S, seed=seed)


def _exchange(url: str, token: str | None, patience_s: float) -> Exchange:
    return Exchange(url, token, patience_s=patience_s)
