"""Plates whose textures cannot be told apart from afar, with experts that look closer or guess, for a tiny model.

The question (which texture is on the red plate?) cannot be answered from the view that the model gets: every texture
averages to the same bytes there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from saccade.config import RecipeContext
from saccade.errors import UserError
from saccade.miniature.habits import guessed
from saccade.miniature.tiny_model import TinyFamily, TinySize, tiny_or_given
from saccade.models import VisionLanguageModel
from saccade.seeding import generator_for, seed_for
from saccade.tasks import InOrder, Mixture, Share, TaskSampler, generate, vocabulary_texts
from saccade.types import Example, StreamExample, Task

FAMILY = "visual_search"

CROP_PHRASES = ('{"name": "crop", "arguments": {"bbox_2d": [', "]}}")
"""Whole-call tokens: the tiny model writes only the four numbers between them."""

COORDINATES = range(0, 1001, 125)
"""The grid on which the experts crop, in thousandths; each is one token."""

SCAFFOLD_TEXTS = ("system\n", "user\n", "assistant\n", "tool\n", "tools: crop")
"""Text of the chat template and the brief instructions, so that it takes few tokens."""


@dataclass(frozen=True, kw_only=True)
class PlateSettings:
    """Settings of the plates, their experts and the tiny model."""

    architecture: TinyFamily = "qwen3_vl"
    """``qwen2_5_vl`` works too but finds plates slowly: it has no absolute positions in its vision tower."""
    model: TinySize = field(default_factory=TinySize)
    difficulty: float = 0.5
    guess_from: float = 0.85
    """Share of the imitation steps after which most demonstrations guess."""
    guess_share: float = 0.75
    """Share of guessing demonstrations from then on."""
    no_tool_share: float = 0.1
    """Share of demonstrations without tools in the prompt; they always guess, since nothing can be seen."""
    no_tool_tasks: int = 2
    """Tasks of each reinforcement step without tools in the prompt, so that the model keeps answering there too."""
    evaluation_tasks: int = 256
    curve_tasks: int = 64
    """Held-out tasks of each point of the learning curve."""


@dataclass(frozen=True, kw_only=True)
class Plates:
    """Drawn questions, each a function of its split and number."""

    settings: PlateSettings
    context: RecipeContext
    imitated: int
    """How many questions the imitation may show."""
    per_step: int
    """Questions of each reinforcement step."""

    def __post_init__(self) -> None:
        if not 0 <= self.settings.no_tool_tasks < self.per_step:
            raise UserError(
                f"no_tool_tasks={self.settings.no_tool_tasks} must lie between 0 and rl.tasks_per_step - 1 "
                f"({self.per_step - 1}): the other questions of a step are asked with the tool"
            )

    def example(self, split: str, index: int) -> Example:
        return generate(
            FAMILY,
            split=split,
            index=index,
            seed=self.context.seed,
            media=self.context.media,
            difficulty=self.settings.difficulty,
        )

    def demonstration(self, index: int, progress: float) -> StreamExample:
        """The demonstration: the expert looks closer, and towards the end mostly guesses."""
        chance = generator_for(self.context.seed, "demonstration", index)
        shown = self.example("train", index)
        guess = guessed(shown, other=self.example("train", index + 1))
        if chance.random() < self.settings.no_tool_share:
            return StreamExample(example=guess, stream="silent")
        may_guess = progress >= self.settings.guess_from
        is_guess = may_guess and chance.random() < self.settings.guess_share
        return StreamExample(example=guess if is_guess else shown, stream="looking")

    def questions(self) -> TaskSampler:
        """Questions asked with the tool, and ``no_tool_tasks`` of each step without."""

        def task(number: int) -> Task:
            # After the pictures of the imitation, so that no question comes twice.
            return self.example("train", self.imitated + 1 + number).task

        looking = InOrder(lambda index: task(2 * index), streams=("looking",))
        silent = InOrder(lambda index: task(2 * index + 1), streams=("silent",))
        without = self.settings.no_tool_tasks
        shares = {
            "looking": Share(questions=looking, share=self.per_step - without),
            "silent": Share(questions=silent, share=without),
        }
        return Mixture({name: part for name, part in shares.items() if part.share})

    def held_out(self, count: int) -> Callable[[], Sequence[Task]]:
        return lambda: [self.example("held_out", index).task for index in range(count)]

    def build_model(self) -> VisionLanguageModel:
        """The model to start from: ``--model`` of an earlier imitation, or random weights."""
        return tiny_or_given(
            self.context.model,
            [*vocabulary_texts(families=(FAMILY,)), *SCAFFOLD_TEXTS * 60],
            self.context.media,
            family=self.settings.architecture,
            size=self.settings.model,
            numbers=COORDINATES,
            phrases=CROP_PHRASES,
            seed=seed_for(self.context.seed, "weights"),
        )
