"""A tiny real model and a small environment whose tool can be slow, or break, as a test wants."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from PIL import Image

from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import tiny_model
from saccade.models.vlm import VisionLanguageModel
from saccade.rollout.episodes import RolloutRequest
from saccade.types import Answer, ImageRef, Malformed, Message, Observation, Task, Turn

TEXTS = ["What is written on the red plate? <think>Look closer.</think><answer>rows</answer>", "You see a crop. " * 3]


@dataclass
class LookingEnv:
    """Shows a crop after every turn but the last of ``turn_limit``; an ``<answer>`` ends it earlier."""

    crop: ImageRef
    turn_limit: int = 3
    observation: str = "You see a crop."
    sleep_s: dict[str, float] = field(default_factory=dict)
    """How long the tool takes, by task id."""
    errors: dict[str, list[Exception]] = field(default_factory=dict)
    """What the next steps raise, by task id."""
    texts: list[str] = field(default_factory=list)
    is_open: bool = True
    stop: tuple[str, ...] = ("</answer>", "e", "a", "t", "i")
    """Letters too, so that the babble of an untrained model falls into turns."""

    def reset(self, *, seed=None, options=None):
        self.task: Task = options["task"]
        self.prompt = (Message(role="user", parts=(*self.task.images, self.task.question)),)
        self.images: tuple[ImageRef, ...] = self.task.images
        self.turns: tuple[Turn, ...] = ()
        self.texts.clear()
        return "", {}

    def step(self, action: str):
        time.sleep(self.sleep_s.get(self.task.id, 0.0))
        if self.errors.get(self.task.id):
            raise self.errors[self.task.id].pop(0)
        self.texts.append(action)
        is_answer = "<answer>" in action
        observation = None if is_answer else Observation(text=self.observation, images=(self.crop,))
        self.turns += (
            Turn(
                index=len(self.turns),
                text=action,
                thought="",
                action=Answer(text=action) if is_answer else Malformed(why="no answer"),
                is_well_formed=is_answer,
                observation=observation,
            ),
        )
        return "", 0.0, is_answer, len(self.turns) >= self.turn_limit, {}

    def close(self) -> None:
        self.is_open = False


@pytest.fixture(scope="session")
def media() -> MediaStore:
    return MediaStore()


@pytest.fixture(scope="session")
def model(media: MediaStore) -> VisionLanguageModel:
    return tiny_model(TEXTS, media, vocab_size=400)


@pytest.fixture(scope="session")
def crop(media: MediaStore) -> ImageRef:
    return media.add(Image.new("RGB", (64, 64), (10, 200, 30)))


@pytest.fixture(scope="session")
def requests_for(media: MediaStore):
    """``samples`` requests for each of the named tasks."""
    scene = media.add(Image.new("RGB", (64, 64), (128, 128, 128)))

    def make(names: Sequence[str], samples: int = 1) -> list[RolloutRequest]:
        return [
            RolloutRequest(
                task=Task(
                    id=name,
                    family="plates",
                    question=f"What is written on plate {name}?",
                    answer="rows",
                    answer_kind="exact",
                    images=(scene,),
                ),
                stream="main",
                sample=sample,
                seed=1000 * order + sample,
            )
            for order, name in enumerate(names)
            for sample in range(samples)
        ]

    return make


@pytest.fixture
def looking(crop: ImageRef):
    """Makes an environment factory; all environments made are in ``factory.made``."""

    class Factory:
        def __init__(self, **settings) -> None:
            self.made: list[LookingEnv] = []
            self._settings = settings

        def __call__(self) -> LookingEnv:
            self.made.append(LookingEnv(crop=crop, **self._settings))
            return self.made[-1]

    return Factory
