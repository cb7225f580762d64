"""Vision-language models behind tools: at a server that speaks OpenAI's interface, or in this process.

Tools are plain functions called from many threads, teachers are asynchronous: they run on an event loop in a thread of
its own, which begins with the first question and ends with the process.
"""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from PIL import Image

from saccade.errors import ToolError
from saccade.media.store import MediaStore, image_hash
from saccade.tools.catalogue.options import Placement
from saccade.types import ImageRef, Json, Message

if TYPE_CHECKING:
    from saccade.chat.chat_model import ChatModel

T = TypeVar("T")


class LentImages(MediaStore):
    """Holds pictures only as long as somebody asks about them, so that a service never grows."""

    def __init__(self) -> None:
        super().__init__()
        self._lent: dict[str, tuple[Image.Image, int]] = {}
        self._lending = threading.Lock()

    @contextmanager
    def lend(self, image: Image.Image) -> Iterator[ImageRef]:
        """The picture is in the store until the end."""
        rgb = image.convert("RGB")
        key = image_hash(rgb)
        with self._lending:
            _, borrowers = self._lent.get(key, (rgb, 0))
            self._lent[key] = rgb, borrowers + 1
        try:
            yield ImageRef(hash=key, width=rgb.width, height=rgb.height)
        finally:
            with self._lending:
                _, borrowers = self._lent.pop(key)
                if borrowers > 1:
                    self._lent[key] = rgb, borrowers - 1

    def get(self, image: ImageRef | str) -> Image.Image:
        with self._lending:
            lent = self._lent.get(image if isinstance(image, str) else image.hash)
        return super().get(image) if lent is None else lent[0]


class AskedModel:
    """A ``VisionModel`` that is a teacher; ``images`` is the store that the teacher takes pictures from."""

    def __init__(self, teacher: "ChatModel", images: LentImages) -> None:
        self._teacher = teacher
        self._images = images

    def answer(self, image: Image.Image, prompt: str) -> str:
        from saccade.chat.refusals import RefusedRequestError

        with self._images.lend(image) as shown:
            message = Message(role="user", parts=(shown, prompt))
            try:
                (text,) = run_in_loop(self._ask(message))
            except RefusedRequestError as error:
                if not error.is_about_one_request:
                    raise
                raise ToolError("the model behind this tool does not take this request; ask in other words") from error
        return text.strip()

    async def _ask(self, message: Message) -> list[str]:
        # Always the likeliest words: a tool is a function of its arguments.
        return list(await self._teacher([message], temperature=0.0, samples=1, seed=0))


def server_model(
    url: str,
    model: str,
    *,
    api_key: str | None,
    timeout_s: float,
    max_tokens: int,
    retries: int,
    at_once: int,
    extra_body: dict[str, Json],
) -> AskedModel:
    """A model of an OpenAI-compatible server; nothing is sent before the first question."""
    from saccade.chat.openai_chat import ChatClient

    images = LentImages()
    client = ChatClient(
        url,
        model,
        media=images,
        api_key=api_key or "none",
        timeout_s=timeout_s,
        max_tokens=max_tokens,
        max_concurrency=at_once,
        retries=retries,
        extra_body=extra_body,
    )
    return AskedModel(client, images)


def local_model(path: Path, placement: Placement, *, max_tokens: int, max_pixels: int | None) -> AskedModel:
    """A checkpoint of a family that Saccade knows, in this process; questions asked at the same time are one batch."""
    from saccade.chat.chat_model import EngineChat
    from saccade.engines.local import LocalEngine
    from saccade.models.loading import LoadSettings, load_model

    images = LentImages()
    loaded = load_model(path, images, LoadSettings(**placement, max_pixels=max_pixels))
    # Little is kept of pictures: nobody asks twice about the same one.
    engine = LocalEngine(loaded, feature_bytes=64 << 20)
    return AskedModel(EngineChat(engine=engine, chat=loaded.chat, max_tokens=max_tokens), images)


def run_in_loop(work: Coroutine[object, object, T]) -> T:
    """The result of the work, done in the thread of all asked models."""
    return asyncio.run_coroutine_threadsafe(work, _loop()).result()


_STARTING = threading.Lock()


def _loop() -> asyncio.AbstractEventLoop:
    with _STARTING:
        return _started()


@cache
def _started() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="saccade-asked-models", daemon=True).start()
    return loop
