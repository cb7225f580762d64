"""iVGR: each question in two streams, boxes written out and plain words; words are paid for agreeing with boxes.

``tiny`` is the whole of it on drawn questions, for a model made from nothing: a cold start by imitation, the two
streams with the archive and an exact judge, and evaluations in words, with boxes, and with crops at test time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from saccade.evaluation.views import Views
from saccade.models.loading import LoadSettings, load_model
from saccade.models.tiny import tiny_model
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.instructions import Style
from saccade.protocols.two_streams import (
    GROUNDED,
    TEXTUAL,
    grounded_protocol,
    grounded_with_crop_protocol,
    textual_protocol,
)
from saccade.recipes._ivgr_settings import IvgrSettings, TinySettings
from saccade.rewards.consistency import ConsistencyJudge
from saccade.rewards.contract import Scorer
from saccade.rewards.exact_judge import PLACE, PLACES, ExactJudge
from saccade.rewards.grounding import GroundingReward
from saccade.rewards.ivgr import IvgrReward
from saccade.rewards.outcome import OutcomeReward
from saccade.seeding import generator_for, seed_for
from saccade.tasks.curriculum import InOrder, Mixture, Questions, Share
from saccade.tasks.families.plate_marks import MARKS
from saccade.tasks.stream_lessons import (
    NUMBERS,
    PHRASES,
    StreamQuestions,
    lesson_texts,
    lessons_on,
)
from saccade.tools.contract import tool_from
from saccade.tools.images import crop
from saccade.train.algorithm_choice import chosen
from saccade.train.context import RecipeContext
from saccade.train.plan import Demonstration, Episodes, Evaluate, Plan, Reinforce, Stage, Stream, Supervise
from saccade.train.settings import apply_overrides
from saccade.types import Task

OUTCOME = OutcomeReward(accuracy_weight=1.0, format_weight=1.0)

EXACT = ExactJudge(values={PLACE: PLACES, "mark": tuple(MARKS)})
"""The judge of drawn plates."""

VIEWS: Mapping[str, Views] = {
    "crops": Views(crops=True, union=False),
    "union": Views(crops=False, union=True),
    "crops_union": Views(crops=True, union=True),
}
"""The second looks of the paper's Table 4."""


def tiny(context: RecipeContext) -> Plan:
    """The recipe on drawn questions; with ``--model`` of an earlier imitation there is no imitation."""
    settings = apply_overrides(TinySettings(), context.overrides)
    asked = StreamQuestions(seed=seed_for(context.seed, "ivgr"), media=context.media, difficulty=settings.difficulty)
    played = _played(settings, "brief")
    lesson = lessons_on(asked, settings.lessons, questions=settings.sft_questions, seed=context.seed)

    def demonstrations(step: int) -> Sequence[Demonstration]:
        first = step * settings.sft.batch_size
        shown = [lesson(index, step / settings.sft.steps) for index in range(first, first + settings.sft.batch_size)]
        return [Demonstration(example=one.example, episodes=played.of(one.stream)) for one in shown]

    def boxed(number: int) -> Task:
        epoch, place = divmod(number, settings.rl_questions)
        order = generator_for(context.seed, "rl", "epoch", epoch).permutation(settings.rl_questions)
        # After the pictures of the imitation, so that none comes twice.
        return asked.boxed("train", settings.sft_questions + int(order[place])).task

    def general(number: int) -> Task:
        return asked.general("train", settings.sft_questions + number).task

    def held_out(count: int) -> Callable[[], Sequence[Task]]:
        return lambda: [asked.boxed("held_out", index).task for index in range(count)]

    tasks = held_out(settings.evaluation_tasks)
    reinforcement = _reinforcement(
        settings,
        played,
        judge=EXACT,
        boxed=lambda streams: InOrder(boxed, streams=streams),
        general=lambda streams: InOrder(general, streams=streams),
        curve=played.evaluate("curve", TEXTUAL, held_out(settings.curve_tasks)),
    )
    start = context.model
    imitation: tuple[Stage, ...] = ()
    if settings.sft.steps and start is None:
        stage = Supervise(name="sft", demonstrations=demonstrations, settings=settings.sft)
        imitation = (stage, *played.evaluations("after_sft", tasks, test_time=settings.test_time))
    return Plan(
        title="A tiny model makes its looking its own",
        settings=settings,
        build_model=lambda: (
            load_model(start, context.media, LoadSettings(device="cpu")) if start else _random_model(settings, context)
        ),
        stages=(
            *imitation,
            reinforcement,
            *played.evaluations("after_rl", tasks, test_time=settings.test_time),
        ),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Played:
    """How questions are played in either stream."""

    grounded: Episodes
    textual: Episodes

    def of(self, stream: str) -> Episodes:
        return self.grounded if stream == GROUNDED else self.textual

    def evaluate(self, name: str, stream: str, tasks: Callable[[], Sequence[Task]]) -> Evaluate:
        reward: Scorer = GroundingReward() if stream == GROUNDED else OUTCOME
        return Evaluate(name=name, tasks=tasks, episodes=self.of(stream), reward=reward)

    def evaluations(self, when: str, tasks: Callable[[], Sequence[Task]], *, test_time: bool) -> tuple[Evaluate, ...]:
        """In words, with boxes, and in words on what the boxes of a first pass show."""
        plain = self.evaluate(f"{when}_textual", TEXTUAL, tasks)
        looks = (
            replace(plain, name=f"{when}_{name}", first_pass=self.grounded, views=views)
            for name, views in (VIEWS if test_time else {}).items()
        )
        return (plain, self.evaluate(f"{when}_grounded", GROUNDED, tasks), *looks)


def _played(settings: IvgrSettings, style: Style) -> _Played:
    turns = settings.crop_turns if settings.grounded_crops else 1
    protocol = grounded_with_crop_protocol if settings.grounded_crops else grounded_protocol
    return _Played(
        grounded=Episodes(
            protocol=protocol(style=style, max_turns=turns, form=settings.box_form),
            tools=(tool_from(crop),) if settings.grounded_crops else (),
            rollout=settings.rollout,
            max_turns=turns,
        ),
        textual=Episodes(
            protocol=textual_protocol(style=style, max_turns=1), tools=(), rollout=settings.rollout, max_turns=1
        ),
    )


def _reinforcement(
    settings: IvgrSettings,
    played: _Played,
    *,
    judge: ConsistencyJudge,
    boxed: Callable[[tuple[str, ...]], Questions],
    general: Callable[[tuple[str, ...]], Questions] | None,
    curve: Evaluate,
) -> Reinforce:
    """The stage of both streams, or of one of them with as many trajectories per step."""
    names = (GROUNDED, TEXTUAL) if settings.streams == "both" else (settings.streams,)
    pairs, singles = batch_of(settings)
    counts = {"boxed": pairs if settings.streams == "both" else 2 * pairs, "general": singles}
    if general is None or settings.streams == GROUNDED:
        # Questions without boxes are asked in plain words; where nothing else is asked, they make room.
        counts = {"boxed": settings.rl.tasks_per_step // len(names), "general": 0}

    def questions() -> Questions:
        parts = {"boxed": Share(questions=boxed(names), share=counts["boxed"])}
        if general is not None and counts["general"]:
            parts["general"] = Share(questions=general((TEXTUAL,)), share=counts["general"])
        return Mixture(parts)

    return Reinforce(
        name="rl",
        streams=tuple(Stream(name=name, episodes=played.of(name)) for name in names),
        questions=questions,
        reward=reward(settings, judge),
        algorithm=chosen(settings.rl.algorithm, action_tokens=played.textual.max_action_tokens),
        settings=replace(settings.rl, tasks_per_step=sum(counts.values())),
        evaluation=curve if settings.rl.evaluate_every else None,
    )


def batch_of(settings: IvgrSettings) -> tuple[int, int]:
    """Questions that both streams ask, and questions that the textual one alone asks, of a step's prompts."""
    prompts = settings.rl.tasks_per_step
    pairs = int(prompts * settings.boxed_share + 1e-9)
    return pairs, prompts - 2 * pairs


def reward(settings: IvgrSettings, judge: ConsistencyJudge) -> IvgrReward:
    """Equations 1 and 3."""
    return IvgrReward(
        consistency=judge if settings.consistency else None,
        grounding=GroundingReward(validity_weight=settings.validity_weight),
        tau=settings.tau,
        use_archive=settings.archive,
    )


def _random_model(settings: TinySettings, context: RecipeContext) -> VisionLanguageModel:
    return tiny_model(
        lesson_texts(),
        context.media,
        size=settings.size,
        numbers=NUMBERS,
        phrases=PHRASES,
        seed=seed_for(context.seed, "weights"),
    )
