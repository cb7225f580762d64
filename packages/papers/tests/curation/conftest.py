"""A real sandbox, environments around it, and questions that code answers."""

from collections.abc import Callable, Iterator

import pytest

from saccade.curation.codedance.solutions import REPLAYED
from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.media.store import MediaStore
from saccade.protocols.code import code_protocol
from saccade.rollout.conversation import ORIGINAL_VIEW
from saccade.sandbox import Sandbox
from saccade.tasks.procedural import generate
from saccade.tools.code import python_tool
from saccade.types import Example

MAX_TURNS = 4


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def media() -> MediaStore:
    return MediaStore()


@pytest.fixture
def make_env(sandbox: Sandbox, media: MediaStore) -> Callable[[int], VisualReasoningEnv]:
    def make(seed: int) -> VisualReasoningEnv:
        return VisualReasoningEnv(
            protocol=code_protocol(max_turns=MAX_TURNS),
            tools=(python_tool(sandbox, checks_work=seed == REPLAYED),),
            media=media,
            view=ORIGINAL_VIEW,
            max_turns=MAX_TURNS,
            seed=seed,
            shows_pixels=False,
        )

    return make


@pytest.fixture(scope="session")
def dots(media: MediaStore) -> list[Example]:
    """Counting questions whose experts write code."""
    return [generate("colour_dots", split="train", index=index, seed=0, media=media) for index in range(6)]
