"""One question about one picture, answered with a second look: for a notebook, a demonstration, a server."""

from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from saccade.engines.engine import Engine, EngineContext
from saccade.engines.local import local_engine
from saccade.envs.environment import EnvironmentContext
from saccade.errors import MachineError
from saccade.evaluation.evaluate import at_engine, play_with_views
from saccade.evaluation.views import ViewKind, Views
from saccade.geometry import Box
from saccade.models.checkpoint import BRIEF_BELOW_VOCABULARY
from saccade.models.loading import LoadSettings
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.instructions import Style
from saccade.protocols.protocol import ChatProtocol
from saccade.protocols.two_streams import grounded_protocol, textual_protocol
from saccade.rewards.mentions import readable_boxes
from saccade.rollout.batch import PlayedAs
from saccade.rollout.episodes import RolloutSettings, visual_reasoning
from saccade.types import Score, Task, Trajectory

ONE_ANSWER = RolloutSettings(max_turn_tokens=512, max_tokens=32_768, temperature=0.0)
"""Greedy, with room for the views of a large image."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenView:
    """A picture that the second pass saw beside the original."""

    kind: ViewKind
    box: Box
    """Its place, in whole pixels of the original."""
    picture: Image.Image


@dataclass(frozen=True, kw_only=True, slots=True)
class SecondLook:
    """The answer of two passes, with the boxes, the views and both trajectories."""

    answer: str | None
    """None when the second pass gave none that could be read."""
    boxes: tuple[Box, ...]
    """Boxes of the first pass, in pixels of the original, as they were written."""
    views: tuple[SeenView, ...]
    first: Trajectory
    second: Trajectory


def answer_one(
    image: Image.Image | Path | str,
    question: str,
    *,
    model: VisionLanguageModel,
    choices: tuple[str, ...] = (),
    views: Views = Views(),
    settings: RolloutSettings = ONE_ANSWER,
    engine: Engine | None = None,
    style: Style | None = None,
    seed: int = 0,
) -> SecondLook:
    """The answer to a question about a picture or the file of one, by the two passes of ``play_with_views``.

    Without ``engine`` one is made for this call. ``style`` is that of the instructions, by default ``brief`` for a tiny
    model and ``full`` for all others. Nothing stays in the model's media store. Raises UserError for a file that is no
    image, MachineError when a pass failed.
    """
    if style is None:
        style = "brief" if model.vocab_size < BRIEF_BELOW_VOCABULARY else "full"

    def one_turn(protocol: ChatProtocol) -> PlayedAs:
        return PlayedAs(
            make_env=lambda: visual_reasoning(
                EnvironmentContext(protocol=protocol, media=model.media, view=model.view, max_turns=1)
            ),
            settings=settings,
        )

    with model.media.temporary():
        seen = model.media.add(image) if isinstance(image, Image.Image) else model.media.add_file(Path(image))
        task = Task(
            id="one", family="one", question=question, answer="", answer_kind="text", images=(seen,), choices=choices
        )
        passes = play_with_views(
            [task],
            playing=at_engine(
                engine or local_engine(EngineContext(model=model, load=LoadSettings())), model.chat, _no_score
            ),
            media=model.media,
            first=one_turn(grounded_protocol(style=style, max_turns=1)),
            second=one_turn(textual_protocol(style=style, max_turns=1)),
            views=views,
            seed=seed,
            name="one",
        )
        first, second = passes.first[0].trajectory, passes.second[0].trajectory
        if second.status == "failed":
            raise MachineError(f"the question could not be answered: {second.failure}")
        return SecondLook(
            answer=second.answer,
            boxes=readable_boxes(first),
            views=tuple(
                SeenView(kind=view.kind, box=view.box, picture=model.media.get(view.image)) for view in passes.views[0]
            ),
            first=first,
            second=second,
        )


def _no_score(task: Task, trajectory: Trajectory) -> Score:
    """No score: the right answer is not known here."""
    return Score()
