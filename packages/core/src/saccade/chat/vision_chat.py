"""A chat model that is asked about one picture at a time, by plain functions in many threads: tools and rewards."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Self

from PIL import Image

from saccade.chat.chat_model import ChatCounts, ConnectedChat
from saccade.chat.threaded import LoopThread
from saccade.chat.wire import RefusedRequestError
from saccade.errors import MachineError, ToolError
from saccade.media.store import MediaStore
from saccade.types import ImageRef, Message


class LentImages(MediaStore):
    """Holds pictures only while a question about them is out, so that a service never grows."""

    @contextmanager
    def lend(self, image: Image.Image) -> Iterator[ImageRef]:
        """The picture is in the store until the end."""
        with self.lent([image]) as [shown]:
            yield shown


class VisionChat:
    """A ``VisionModel`` that is a chat model, while it is entered; what is never left ends with its last user.

    ``images`` is the store that the chat model takes pictures from. Tools are plain functions and chat models are
    asynchronous, so the questions of all threads meet in an event loop of their own.
    """

    def __init__(self, model: ConnectedChat, images: LentImages) -> None:
        self._model = model
        self._images = images
        self._open = ExitStack()
        self._thread: LoopThread | None = None

    @property
    def counts(self) -> ChatCounts:
        return self._model.counts

    def answer(self, image: Image.Image, prompt: str) -> str:
        """The likeliest words, for a tool is a function of its arguments."""
        if self._thread is None:
            raise MachineError("the vision model is not open; ask inside a with block")
        with self._images.lend(image) as shown:
            message = Message(role="user", parts=(shown, prompt))
            try:
                (text,) = self._thread.submit(self._ask(message)).result()
            except RefusedRequestError as error:
                if not error.is_about_one_request:
                    raise
                raise ToolError("the model behind this tool does not take this request; ask in other words") from error
        return text.strip()

    async def _ask(self, message: Message) -> Sequence[str]:
        return await self._model([message], temperature=0.0, samples=1, seed=0)

    def __enter__(self) -> Self:
        self._open.enter_context(self._model)
        self._thread = LoopThread("saccade-vision-chat")
        self._open.callback(self._thread.stop)
        return self

    def __exit__(self, *_: object) -> None:
        self._thread = None
        self._open.close()
