"""Models that a run opens before its first step and closes in any case: a judge, a critic, a reader of pictures.

A recipe, or a reward with a model behind it, needs three lines:

    models = Resources(context.media)
    critic = models.open_chat_model("critic", "http://localhost:8000/v1", model="qwen2.5-72b")
    return plan.with_reward(MyReward(critic)).with_models(models)
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Self, TypedDict, Unpack

from saccade.chat.chat_model import ChatMeter, ChatModel, ChatServerSettings, connect
from saccade.chat.vision_chat import LentImages, VisionChat
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.models.checkpoint import LoadSettings
from saccade.vision_models.kinds import VisionModel


class Connection(TypedDict, total=False):
    """Further arguments of ``connect``."""

    model: str | None
    load: LoadSettings
    api_key: str | None
    cache_dir: Path | None


class Resources:
    """Named models for ``Plan.resources``; ``meters`` counts what they are asked, for ``Plan.meters``."""

    def __init__(self, media: MediaStore) -> None:
        """``media`` holds the pictures of messages: the store of the run's tasks."""
        self._media = media
        self._models: list[tuple[str, AbstractContextManager[object]]] = []
        self._meters: dict[str, ChatMeter] = {}
        self._open = ExitStack()

    def open_chat_model(
        self,
        name: str,
        where: str | Path | ChatModel,
        settings: ChatServerSettings = ChatServerSettings(),
        **how: Unpack[Connection],
    ) -> ChatModel:
        """A model as ``connect`` gives it, open while the run goes on; models of one ``name`` are counted together."""
        made = connect(where, settings, media=self._media, **how)
        self._models.append((name, made))
        self._meter(name).add(made)
        return made

    def open_vision_model(
        self,
        name: str,
        where: str | Path | ChatModel,
        settings: ChatServerSettings = ChatServerSettings(),
        **how: Unpack[Connection],
    ) -> VisionModel:
        """A model that answers a request about a picture at once, for plain functions: ``answer(image, prompt)``."""
        images = LentImages()
        made = connect(where, settings, media=images, **how)
        vision = VisionChat(made, images)
        self._models.append((name, vision))
        self._meter(name).add(vision)
        return vision

    def meters(self) -> Mapping[str, float]:
        """Counts since the last reading, by the models' names."""
        return {name: value for meter in self._meters.values() for name, value in meter().items()}

    def _meter(self, name: str) -> ChatMeter:
        if not name.isidentifier():
            raise UserError(f"name={name!r} cannot name a model in the metrics; use letters, digits and underscores")
        return self._meters.setdefault(name, ChatMeter(name, ()))

    def __enter__(self) -> Self:
        with ExitStack() as opening:
            for name, model in self._models:
                try:
                    opening.enter_context(model)
                except UserError as error:
                    raise UserError(f"the model {name!r} cannot be opened: {error}") from error
            self._open = opening.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()
