"""The base checkpoint: a small model that sees, taught by the experts of all procedural families.

It is taught one thing after the other: to find things by their colour, plates and their textures, shapes, lines,
scenes with coloured things, then everything together. Most demonstrations use tools as the expert does; the others
answer directly from the view, without tools in the prompt, so that the model can also look silently.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from saccade.config import RecipeContext, apply_overrides
from saccade.learner import OptimizerSettings
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models import VisionLanguageModel
from saccade.protocols import direct_protocol, tagged_protocol
from saccade.rewards import OutcomeReward
from saccade.rollout import RolloutSettings
from saccade.seeding import generator_for, seed_for
from saccade.tasks import FAMILIES, LESSON_FAMILIES, generate, vocabulary_texts
from saccade.tasks.scene import PLACE_NAMES
from saccade.tools import IMAGE_TOOLS
from saccade.train import Demonstration, EpisodeSpec, Evaluate, Plan, SFTSettings, SFTStage
from saccade.types import Example, Task

CALL_PHRASES = (
    '{"name": "crop", "arguments": {"bbox_2d": [',
    '{"name": "measure", "arguments": {"start": [',
    '], "end": [',
    '{"name": "draw_points", "arguments": {"points": [[',
    "], [",
    "]}}",
    "]]}}",
)
"""Text around the numbers of the experts' calls; each is one token.

So are the places of things in thoughts: two words for a row and a column would be two lookups, and the second, whose
cue lies further back, is not learned.
"""

SCAFFOLD_TEXTS = (
    "system\n",
    "user\n",
    "assistant\n",
    "tool\n",
    "tools: crop zoom rotate flip contrast draw_boxes draw_points measure",
    "no tools",
    "px, degrees",
)
"""Text of the chat template, the brief instructions and the tools, so that it takes few tokens."""


_DIFFICULTIES = (0.0, 0.25, 0.5, 0.75)


@dataclass(frozen=True, kw_only=True)
class PerceptionLesson:
    """A lesson of some steps, beside what was taught before."""

    families: tuple[str, ...]
    steps: int
    difficulties: tuple[float, ...] = (0.5,)
    repeated_share: float = 0.15
    """Share of demonstrations from earlier lessons, each as often."""


LESSONS = (
    PerceptionLesson(families=("finding_colours",), steps=600),
    PerceptionLesson(families=("visual_search",), steps=500),
    PerceptionLesson(families=("finding_shapes",), steps=3000, difficulties=(0.0, 0.25, 0.5)),
    PerceptionLesson(families=("finding_lines",), steps=600, difficulties=(0.0, 0.5)),
    PerceptionLesson(
        families=(
            "visual_search",
            "attributes",
            "counting",
            "spatial_relation",
            "geometry_length",
            "geometry_angle",
            "chart_lines",
        ),
        steps=4000,
        difficulties=(0.0, 0.25, 0.5),
        repeated_share=0.25,
    ),
)
"""One thing after the other: how to find things by their colour is learned in 500 steps of nothing else, and not in
2,500 of a mixture in which most is harder to find; so are the textures of plates. Words are left out: those of charts,
tables and documents cannot be found from afar."""


@dataclass(frozen=True, kw_only=True)
class PerceptionSettings:
    """Settings of the base model that ships."""

    sft: SFTSettings = SFTSettings(
        steps=12_700,
        batch_size=16,
        optimizer=OptimizerSettings(learning_rate=3e-3, muon=True, micro_batch_tokens=2600),
        warmup_steps=100,
        decay="cosine",
        final_rate=0.05,
        checkpoint_every=500,
    )
    model: TinySize = TinySize(
        hidden=128, layers=3, mlp=384, vision_depth=2, vision_hidden=128, vision_mlp=256, initializer_range=0.09
    )
    families: tuple[str, ...] = tuple(FAMILIES)
    """Taught together when the lessons are over."""
    costly_families: tuple[str, ...] = ("video_event",)
    """Families of many pictures a question, of which there are fewer demonstrations."""
    costly_share: float = 0.05
    lessons_share: float = 0.5
    """Share of the lessons' families while all are taught."""
    direct_share: float = 0.15
    """Share of demonstrations that answer from the view alone."""
    evaluation_tasks: int = 1300
    """Held-out tasks, spread evenly over the families."""


def _drawn_from(settings: PerceptionSettings, step: int, chance: float) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """The families and the difficulties that a demonstration of this step is drawn from; ``chance`` is in [0, 1)."""
    taught: list[str] = []
    for lesson in LESSONS:
        if step < lesson.steps:
            is_repeated = bool(taught) and chance < lesson.repeated_share
            return (tuple(taught), _DIFFICULTIES) if is_repeated else (lesson.families, lesson.difficulties)
        step -= lesson.steps
        taught += (one for one in lesson.families if one not in taught)
    if chance < settings.lessons_share:
        return tuple(taught), _DIFFICULTIES
    if chance < settings.lessons_share + settings.costly_share:
        return settings.costly_families, _DIFFICULTIES
    return tuple(one for one in settings.families if one not in settings.costly_families), _DIFFICULTIES


def perception(context: RecipeContext) -> Plan:
    """Imitation of all experts, then an evaluation with and one without tools on every family."""
    settings = apply_overrides(PerceptionSettings(), context.overrides)
    rollout = RolloutSettings(max_turn_tokens=96, max_tokens=2048)
    looking = EpisodeSpec(protocol=tagged_protocol(style="brief"), tools=IMAGE_TOOLS, rollout=rollout, max_turns=5)
    silent = EpisodeSpec(protocol=direct_protocol(style="brief"), tools=(), rollout=rollout, max_turns=1)
    reward = OutcomeReward()

    def example(family: str, split: str, index: int, difficulty: float) -> Example:
        return generate(family, split=split, index=index, seed=context.seed, media=context.media, difficulty=difficulty)

    def demonstration(index: int, _: float) -> Demonstration:
        chance = generator_for(context.seed, "demonstration", index)
        families, difficulties = _drawn_from(settings, index // settings.sft.batch_size, chance.random())
        difficulty = float(chance.choice(difficulties))
        shown = example(families[int(chance.integers(len(families)))], "train", index, difficulty)
        if shown.task.family in LESSON_FAMILIES or chance.random() < settings.direct_share:
            return Demonstration(example=replace(shown, turns=shown.turns[-1:]), episodes=silent)
        return Demonstration(example=shown, episodes=looking)

    def held_out() -> Sequence[Task]:
        families = settings.families
        return [
            example(families[index % len(families)], "held_out", index // len(families), 0.5).task
            for index in range(settings.evaluation_tasks)
        ]

    def build_model() -> VisionLanguageModel:
        return tiny_model(
            [*vocabulary_texts(families=(*FAMILIES, *LESSON_FAMILIES)), *SCAFFOLD_TEXTS * 60],
            context.media,
            size=settings.model,
            phrases=(*CALL_PHRASES, *(f" {place}" for place in PLACE_NAMES)),
            seed=seed_for(context.seed, "weights"),
        )

    return Plan(
        title="A small model learns to see",
        settings=settings,
        build_model=build_model,
        stages=(
            SFTStage(name="sft", source=demonstration, settings=settings.sft),
            Evaluate(name="with_tools", tasks=held_out, episodes=looking, reward=reward),
            Evaluate(name="without_tools", tasks=held_out, episodes=silent, reward=reward),
        ),
    )
