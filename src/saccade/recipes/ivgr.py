"""iVGR: each question in two streams, boxes written out and plain words; words are paid for agreeing with boxes.

A cold start by imitation of both, then reinforcement of both with the archive and a judge, and evaluations in words,
with boxes, and with crops at test time. ``tiny`` is the whole of it on drawn questions with an exact judge, for a
model made from nothing.
"""

from collections.abc import Callable, Sequence

from saccade.config.context import RecipeContext
from saccade.config.settings import apply_overrides
from saccade.errors import UserError
from saccade.models.base import instruction_style
from saccade.models.loading import LoadSettings, load_model
from saccade.models.tiny import tiny_model
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.two_streams import TEXTUAL
from saccade.recipes._ivgr_data import general_source, read_questions, read_trajectories
from saccade.recipes._ivgr_judges import Judges, Meter, judges
from saccade.recipes._ivgr_parts import StreamEpisodes, played, reinforcement, second_looks
from saccade.recipes._ivgr_settings import IvgrSettings, TinyIvgrSettings, TwoStreamSettings
from saccade.rewards.judges.exact_judge import PLACE, PLACES, ExactJudge
from saccade.seeding import generator_for, seed_for
from saccade.tasks.curriculum import Epochs, InOrder, Shuffled
from saccade.tasks.families.plate_marks import MARKS
from saccade.tasks.stream_lessons import (
    NUMBERS,
    PHRASES,
    StreamQuestions,
    lesson_texts,
    lessons_on,
)
from saccade.train.plan import Demonstration, DemonstrationSource, Plan, SFTStage, Stage
from saccade.types import Task

EXACT = ExactJudge(values={PLACE: PLACES, "mark": tuple(MARKS)})
"""The judge of drawn plates."""


def ivgr(context: RecipeContext) -> Plan:
    """Both stages on a checkpoint: ``--model``, ``--data`` with boxes, ``--set sft_data=FILE``, and a judge."""
    settings = apply_overrides(IvgrSettings(), context.overrides)
    if context.data is None or context.model is None:
        raise UserError(
            "this recipe trains a checkpoint on your own questions with boxes; give --model PATH and --data PATH, or "
            "see it in miniature: saccade train ivgr:tiny"
        )
    judged = _judges(settings, context, exact=None)
    path, looks = context.model, second_looks(settings.views)
    asked = read_questions(context.data, settings, context)
    how = played(settings, instruction_style(path))

    def measured(when: str) -> tuple[Stage, ...]:
        shown = {"crops_union": looks["crops_union"]} if settings.test_time else {}
        return how.evaluations(when, lambda: asked.held_out, shown)

    imitation: tuple[Stage, ...] = ()
    if settings.sft.steps and settings.sft_data is not None:
        stage = SFTStage(
            name="sft",
            source=_imitated(settings, how, asked.held_out, context),
            settings=settings.sft,
        )
        imitation = (stage, *measured("after_sft"))
    stage_of_both = reinforcement(
        settings,
        how,
        judged=judged,
        boxed=lambda streams: Shuffled(asked.boxed, seed=seed_for(context.seed, "rl"), streams=streams),
        general=general_source(asked, settings, seed=context.seed),
        curve=how.evaluate("curve", TEXTUAL, lambda: asked.held_out),
    )
    return Plan(
        title=f"{path.name} makes its looking its own on {context.data.name}",
        settings=settings,
        build_model=lambda: load_model(path, context.media, settings.model),
        load=settings.model,
        stages=(*measured("before"), *imitation, stage_of_both, *measured("after_rl")),
        resources=judged.resources,
        meters=Meter(judged.teachers),
    )


def _imitated(
    settings: IvgrSettings, how: StreamEpisodes, held_out: Sequence[Task], context: RecipeContext
) -> DemonstrationSource:
    """All examples of ``sft_data`` in random order, then again in another."""
    assert settings.sft_data is not None
    examples = read_trajectories(settings.sft_data, held_out, context)
    epochs = Epochs(examples, seed=seed_for(context.seed, "sft"))

    def demonstration(index: int, _: float) -> Demonstration:
        shown = epochs(index)
        return Demonstration(example=shown.example, episodes=how.of(shown.stream))

    return demonstration


def _judges(settings: TwoStreamSettings, context: RecipeContext, *, exact: ExactJudge | None) -> Judges:
    # In one stream alone there is nothing to agree with.
    return judges(
        settings.judge,
        judges_consistency=settings.consistency and settings.streams == "both",
        judges_answers=settings.accuracy_judge,
        exact=exact,
        media=context.media,
        seed=seed_for(context.seed, "judge"),
    )


def tiny(context: RecipeContext) -> Plan:
    """The recipe on drawn questions; with ``--model`` of an earlier imitation there is no imitation."""
    settings = apply_overrides(TinyIvgrSettings(), context.overrides)
    asked = StreamQuestions(seed=seed_for(context.seed, "ivgr"), media=context.media, difficulty=settings.difficulty)
    judged = _judges(settings, context, exact=EXACT)
    how = played(settings, "brief")
    lesson = lessons_on(asked, settings.lessons, questions=settings.sft_questions, seed=context.seed)

    def demonstration(index: int, progress: float) -> Demonstration:
        shown = lesson(index, progress)
        return Demonstration(example=shown.example, episodes=how.of(shown.stream))

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
    looks = second_looks() if settings.test_time else {}
    stage_of_both = reinforcement(
        settings,
        how,
        judged=judged,
        boxed=lambda streams: InOrder(boxed, streams=streams),
        general=lambda streams: InOrder(general, streams=streams),
        curve=how.evaluate("curve", TEXTUAL, held_out(settings.curve_tasks)),
    )
    start = context.model
    imitation: tuple[Stage, ...] = ()
    if settings.sft.steps and start is None:
        stage = SFTStage(name="sft", source=demonstration, settings=settings.sft)
        before = how.evaluate("before_textual", TEXTUAL, held_out(settings.curve_tasks))
        imitation = (before, stage, *how.evaluations("after_sft", tasks, looks))
    return Plan(
        title="A tiny model makes its looking its own",
        settings=settings,
        build_model=lambda: (
            load_model(start, context.media, LoadSettings(device="cpu")) if start else _random_model(settings, context)
        ),
        stages=(
            *imitation,
            stage_of_both,
            *how.evaluations("after_rl", tasks, looks),
        ),
        resources=judged.resources,
        meters=Meter(judged.teachers),
    )


def _random_model(settings: TinyIvgrSettings, context: RecipeContext) -> VisionLanguageModel:
    return tiny_model(
        lesson_texts(),
        context.media,
        size=settings.size,
        numbers=NUMBERS,
        phrases=PHRASES,
        seed=seed_for(context.seed, "weights"),
    )
