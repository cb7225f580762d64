"""Lang2Act in miniature: drawn pages, experts of whom some look, rules as the curator, and a model made from nothing.

The experts of the cold start mix looking that helps, looking that does not, and guessing, so that a habit can emerge.
The tiny model tells colours, not letters, and cannot abstract its own habits: rules rewrite its sentences as tools. A
share of its cold start is chains of all tools that the rules know, for it cannot follow a prompt either.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from saccade.config import RecipeContext, apply_overrides
from saccade.curation.linguistic_tools import ToolCuration
from saccade.gym.drawn.pages import PageQuestion
from saccade.miniature.pages import KINDS, AskedPages, PageQuestions
from saccade.miniature.reading import OPENINGS, RULES, TOOLS, GoldLessons, ReadingHabit, in_tools, read_by
from saccade.miniature.schedules import IMITATION, REINFORCEMENT, check_shares, imitates, in_epochs, in_small_batches
from saccade.miniature.tiny_model import TinySize, tiny_or_given
from saccade.protocols import ChainCall, LinguisticToolbox
from saccade.protocols.tool_tags import written_tool
from saccade.protocols.toolchain import toolchain_protocol
from saccade.recipes.lang2act import method
from saccade.recipes.lang2act_settings import PageReadingSettings
from saccade.recipes.lang2act_tools import by
from saccade.rollout import RolloutSettings
from saccade.seeding import generator_for, seed_for
from saccade.tasks import InOrder, vocabulary_texts
from saccade.tasks.drawing import BACKGROUND
from saccade.train import AlgorithmSettings, ImitationSettings, Material, Plan, RLSettings
from saccade.types import StreamExample, Task
from saccade.vision_models.kinds import PageEncoder

CHAINS = "chains"
"""Stream of the demonstrations that are chains of tools."""

FAMILIES = ("page_mark", "page_pair", "page_cross")

OTHER_GROUND, OTHER_DIFFICULTY = 112, 0.65
"""Pages of another kind, which are measured and never learned from (Table 11): darker paper and marks of 22 px."""

PHRASES = (
    *("<description>", "</description>", "Image ", "Headed ", ". ", ", ", ": "),
    *(f"{opening} " for opening in OPENINGS.values()),
    *(f'<tool name="{name}" args="Image ' for name in TOOLS),
    *('">', "</tool>", "\n"),
)
"""A token each for a tiny model."""

SCAFFOLD_TEXTS = ("system\n", "user\n", "assistant\n", "describe", "chain", *TOOLS)

SENTENCES = (
    *("Heads: cyan orange one, pink green two, red yellow three.", "Headed pink green two: Image 2."),
    *("Head of Image 1, red green.", "Place on Image 2: yellow, upper left.", "Mark on Image 3: purple, white."),
    *("Ground of Image 1, grey.", "Asked of Image 2, blue.", "Guess on Image 3, cyan."),
)

SAME_TEXTS = (
    "do two of the red plate, the blue plate and the green plate bear the same mark, yes or no?",
    "Guess on Image 1, yes.",
    "Guess on Image 1, no.",
)


@dataclass(frozen=True, kw_only=True)
class ReadingLessons:
    """Mixture of demonstrations, as shares; the others look."""

    mixed_from: float = 0.85
    """Share of the imitation steps after which experts idle and guess, so that rewards have habits to change; before,
    all of them look, which takes a model the longest to learn."""
    idle_share: float = 0.2
    """Demonstrations from then on that say what does not help to find the mark."""
    guess_share: float = 0.6
    chain_share: float = 0.3
    """Demonstrations that are chains of tools, of the same habits: they stand for a model that follows the prompt of a
    toolbox; without any, ``tool_sft`` is what teaches chains."""
    gold: GoldLessons = GoldLessons()

    def check(self) -> None:
        check_shares(self, "mixed_from", "chain_share", together=("idle_share", "guess_share"))

    def habit(self, draw: float, progress: float) -> ReadingHabit:
        """How an expert reads when so much of the imitation is over, from a number in 0..1 drawn at random."""
        if progress < self.mixed_from:
            return "look"
        return "idle" if draw < self.idle_share else "guess" if draw < self.idle_share + self.guess_share else "look"


EITHER_RL = replace(
    REINFORCEMENT, steps=30, algorithm=AlgorithmSettings(name="dapo", max_refills=2), checkpoint_every=10
)
"""Either reinforcement of the miniature."""


@dataclass(frozen=True, kw_only=True)
class TinyLang2ActSettings(PageReadingSettings):
    """The same in miniature: minutes on one core."""

    sft: ImitationSettings = replace(IMITATION, steps=2400, optimizer=in_small_batches(3e-3))
    action_rl: RLSettings = EITHER_RL
    curation: ToolCuration = ToolCuration(k=3)
    tool_sft: ImitationSettings = ImitationSettings(
        batch_size=32, optimizer=in_small_batches(1e-3), warmup_steps=10, final_rate=0.1
    )
    tool_rl: RLSettings = EITHER_RL
    rollout: RolloutSettings = RolloutSettings(max_turn_tokens=120, max_tokens=640)
    size: TinySize = TinySize(layers=3)
    """With two layers a model does not learn in this time to find the page whose head it has read."""
    lessons: ReadingLessons = ReadingLessons()
    encoder: Path | None = None
    """Directory of the encoder that pages are retrieved by; without one the gold pages are among those shown."""
    pages: int = 3
    kinds: tuple[PageQuestion, ...] = KINDS
    """Kinds of questions: one plate, two on a page, two on different pages; "same" asks whether two of three on a page
    bear the same mark, so that guesses are right in half of the questions."""
    gold_pages: bool = False
    """Whether gold pages alone are shown everywhere, so that there is no page to find."""
    difficulty: float = 0.5
    documents: int = 400
    """Documents of the imitation."""
    sft_questions: int = 16_000
    rl_documents: int = 240
    rl_questions: int = 960
    """Different questions of the reinforcement, or as many as the steps of both have places for; they are answered for
    the curation too."""
    evaluation_tasks: int = 200
    curve_tasks: int = 60

    @property
    def asked_questions(self) -> int:
        """How many of ``rl_questions`` are asked: what few steps never ask is not answered for the curation either.

        All of them without a step, when tools are curated and nothing is reinforced.
        """
        places = sum(one.steps * one.tasks_per_step for one in (self.action_rl, self.tool_rl))
        return min(self.rl_questions, places or self.rl_questions)


def tiny(context: RecipeContext) -> Plan:
    """The recipe in miniature, on drawn pages; ``--model`` of an earlier imitation skips imitation."""
    settings = apply_overrides(TinyLang2ActSettings(), context.overrides)
    seed = seed_for(context.seed, "pages")
    encoder = None if settings.encoder is None else _encoder(settings.encoder)

    def questions(documents: int, *, oracle: bool = False, is_other: bool = False) -> PageQuestions:
        return PageQuestions(
            seed=seed,
            media=context.media,
            documents=documents,
            pages=settings.pages,
            difficulty=OTHER_DIFFICULTY if is_other else settings.difficulty,
            ground=OTHER_GROUND if is_other else BACKGROUND[0],
            encoder=encoder,
            kinds=settings.kinds,
            oracle=oracle or settings.gold_pages,
        )

    imitated, gold = questions(settings.documents), questions(settings.documents, oracle=True)
    reinforced = questions(settings.rl_documents)
    other = questions(settings.rl_documents, is_other=True)
    oracle = questions(settings.rl_documents, oracle=True)

    def asked(number: int) -> AskedPages:
        # Documents of their own: after those of the imitation.
        return reinforced.asked_pages("validation", number)

    @cache
    def training() -> Sequence[Task]:
        return [asked(number).task for number in range(settings.asked_questions)]

    def reinforced_by(number: int) -> Task:
        return asked(in_epochs(number, settings.asked_questions, context.seed)).task

    def lesson(index: int, progress: float) -> StreamExample:
        chance = generator_for(context.seed, "lesson", index)
        habit = settings.lessons.habit(chance.random(), progress)
        source = gold if settings.lessons.gold.applies(chance.random(), progress) else imitated
        example = read_by(source.asked_pages("train", index % settings.sft_questions), habit, chance)
        if chance.random() < settings.lessons.chain_share:
            return StreamExample(example=in_tools(example), stream=CHAINS)
        return StreamExample(example=example)

    def held_out(pages: PageQuestions, count: int) -> Callable[[], Sequence[Task]]:
        return lambda: [pages.asked_pages("held_out", number).task for number in range(count)]

    material = Material(
        title="A tiny model learns tools of words on drawn pages",
        build_model=lambda: tiny_or_given(
            context.model,
            vocabulary(settings.kinds),
            context.media,
            size=settings.size,
            numbers=(1, 2, 3),
            phrases=PHRASES,
            seed=seed_for(context.seed, "weights"),
        ),
        style="brief",
        questions=lambda: InOrder(reinforced_by),
        held_out={
            "": held_out(reinforced, settings.evaluation_tasks),
            "other": held_out(other, settings.evaluation_tasks),
            **({} if settings.gold_pages else {"oracle": held_out(oracle, settings.evaluation_tasks)}),
            "curve": held_out(reinforced, settings.curve_tasks),
        },
        examples=lesson if imitates(context, settings.sft.steps) else None,
        first=None,
    )
    known = toolchain_protocol(toolbox=LinguisticToolbox(tuple(TOOLS.values())), style="brief")
    shown = {CHAINS: settings.episodes(known)}
    return material.plan(settings, method(settings, material, training, by(RULES), context.seed, imitated=shown))


def vocabulary(kinds: Sequence[PageQuestion] = KINDS) -> list[str]:
    """Texts that a tiny model's tokenizer is trained on."""
    same = SAME_TEXTS if "same" in kinds else ()
    tags = [written_tool(ChainCall(name=name, args="Image 2: red", finding="upper left")) for name in TOOLS]
    return [*vocabulary_texts(families=FAMILIES), *[*SCAFFOLD_TEXTS, *SENTENCES, *tags, *same] * 60]


def _encoder(path: Path) -> PageEncoder:
    # Here, since a recipe is read without torch.
    from saccade.vision_models import load_page_encoder

    return load_page_encoder(path)
