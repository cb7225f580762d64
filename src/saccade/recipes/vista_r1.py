"""VISTA-R1: a model learns in a gym of visual tools when to call which, and to reason from what they say.

Imitation of an expert's trajectories, reinforcement by a reward for format and answer without loops, and a tail patch:
reinforcement once more, on the questions that it answers now and then. ``tiny`` is the whole of it on drawn questions
of the seven types with the catalogue's tools that work offline, for a model made from nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

from saccade.config.context import RecipeContext
from saccade.config.held_out import without_held_out
from saccade.config.settings import apply_overrides
from saccade.curation.vista.tool_examples import read_tool_examples
from saccade.errors import UserError
from saccade.models.base import instruction_style
from saccade.models.loading import LoadSettings, load_model
from saccade.models.tiny import tiny_model
from saccade.models.vlm import VisionLanguageModel
from saccade.recipes._vista_data import read_questions
from saccade.recipes._vista_gym import NUMBERS, PHRASES, TASK_TYPES, VistaQuestions, gym_tools, lesson_texts
from saccade.recipes._vista_lessons import LOOPS, lessons_on, without_thoughts
from saccade.recipes._vista_parts import TailPatch, ToolEpisodes, played, reinforcement
from saccade.recipes._vista_settings import GymSettings, TinyVistaSettings, VistaSettings
from saccade.recipes._vista_tools import ToolsOfRun, of_families, tools_of_run
from saccade.seeding import generator_for, seed_for
from saccade.tasks.curriculum import Epochs, InOrder, Shuffled, TaskSampler
from saccade.train.plan import Demonstration, DemonstrationSource, Evaluate, Plan, SFTStage, Stage
from saccade.types import Task


def vista_r1(context: RecipeContext) -> Plan:
    """All stages on a checkpoint: ``--model``, ``--data``, and ``--set tools=tools.toml`` or ``service=http://…``."""
    settings = apply_overrides(VistaSettings(), context.overrides)
    if context.data is None or context.model is None:
        raise UserError(
            "this recipe trains a checkpoint on questions; give --model PATH and --data PATH (a folder with a folder "
            "for each data set, or a file of your own), or see it in miniature: saccade train vista_r1:tiny"
        )
    made = tools_of_run(settings.tools, settings.service) if settings.with_tools else ToolsOfRun(tools=())
    if settings.with_tools and not made.tools:
        raise UserError("there is no tool to call; set tools=tools.toml or service=http://…, or with_tools=false")
    path = context.model
    how = played(settings, instruction_style(path), made.tools, of_families(made.tools, settings.tool_families))
    asked = read_questions(context.data, settings, context)
    by_id = {task.id: task for task in asked.training}

    def held_out() -> Sequence[Task]:
        return asked.held_out

    def again() -> TaskSampler:
        return Shuffled(asked.training, seed=seed_for(context.seed, "rl"))

    imitation: tuple[Stage, ...] = ()
    if settings.sft.steps and settings.sft_data:
        shown = _imitated(settings, how, asked.held_out, context)
        imitation = (SFTStage(name="sft", source=shown, settings=settings.sft),)
    tail = TailPatch(
        settings=settings, how=how, keys=lambda: list(by_id), task_of=by_id.__getitem__, again=again, seed=context.seed
    )
    return Plan(
        title=f"{path.name} learns when to call which tool on {context.data.name}",
        settings=settings,
        build_model=lambda: load_model(path, context.media, settings.model),
        load=settings.model,
        stages=(
            how.evaluate("before", held_out),
            *_stages(settings, how, imitation, again, tail, held_out, curve=how.evaluate("curve", held_out)),
        ),
        resources=made.resources,
    )


def _imitated(
    settings: VistaSettings, how: ToolEpisodes, held_out: Sequence[Task], context: RecipeContext
) -> DemonstrationSource:
    """All trajectories of ``sft_data`` in random order, then again in another."""
    read = [one for data in settings.sft_data for one in read_tool_examples(data, context.media)]
    examples = without_held_out(read, held_out, lambda one: one.task, what="trajectories to imitate")
    if not settings.with_tools:
        examples = [replace(one, turns=one.turns[-1:]) for one in examples]
    if not settings.reasoning:
        examples = [without_thoughts(one) for one in examples]
    epochs = Epochs(examples, seed=seed_for(context.seed, "sft"))
    return lambda index, _: Demonstration(example=epochs(index), episodes=how.everywhere, may_fail=True)


def _stages(
    settings: GymSettings,
    how: ToolEpisodes,
    imitation: Sequence[Stage],
    again: Callable[[], TaskSampler],
    tail: TailPatch,
    held_out: Callable[[], Sequence[Task]],
    *,
    curve: Evaluate,
) -> tuple[Stage, ...]:
    """Those of the settings, an evaluation after each."""
    stages: list[Stage] = []
    if "sft" in settings.stages and imitation:
        stages += [*imitation, how.evaluate("after_sft", held_out)]
    if "rl" in settings.stages:
        rl = reinforcement("rl", settings, how, questions=again, curve=curve)
        stages += [rl, how.evaluate("after_rl", held_out)]
    if "tail" in settings.stages:
        stages += [*tail.stages(curve), how.evaluate("after_tail", held_out)]
    return tuple(stages)


def tiny(context: RecipeContext) -> Plan:
    """The recipe on drawn questions; with ``--model`` of an earlier stage there is no imitation."""
    settings = apply_overrides(TinyVistaSettings(), context.overrides)
    tools = gym_tools() if settings.with_tools else {}
    how = played(settings, "brief", tuple(tools.values()), of_families(tuple(tools.values()), settings.tool_families))
    seed = seed_for(context.seed, "vista")
    asked = VistaQuestions(seed=seed, media=context.media)
    trained = VistaQuestions(seed=seed, media=context.media, types=settings.task_types or tuple(TASK_TYPES))
    lesson = lessons_on(
        asked,
        settings.lessons,
        questions=settings.sft_questions,
        slow_questions=settings.slow_questions,
        seed=context.seed,
        with_tools=settings.with_tools,
        reasoning=settings.reasoning,
    )

    def demonstration(index: int, progress: float) -> Demonstration:
        # A careless expert's tool finds nothing in the wrong picture.
        return Demonstration(example=lesson(index, progress), episodes=how.everywhere, may_fail=True)

    def question(number: int) -> Task:
        # After the pictures of the imitation, so that none comes twice.
        return trained.example("train", settings.sft_questions + number).task

    @cache
    def numbers() -> dict[str, int]:
        with context.media.temporary():
            return {question(number).id: number for number in range(settings.rl_questions)}

    def again() -> TaskSampler:
        return InOrder(lambda number: question(_shuffled(number, settings.rl_questions, context.seed)))

    def held_out(count: int) -> Callable[[], Sequence[Task]]:
        return lambda: [asked.example("held_out", number).task for number in range(count)]

    tasks = held_out(settings.evaluation_tasks)
    curve = how.evaluate("curve", held_out(settings.curve_tasks))
    tail = TailPatch(
        settings=settings,
        how=how,
        keys=lambda: list(numbers()),
        task_of=lambda key: question(numbers()[key]),
        again=again,
        seed=context.seed,
    )
    start = context.model
    imitation: tuple[Stage, ...] = ()
    if settings.sft.steps and start is None:
        imitation = (
            how.evaluate("before", held_out(settings.curve_tasks)),
            SFTStage(name="sft", source=demonstration, settings=settings.sft),
        )
    return Plan(
        title="A tiny model learns when to call which tool",
        settings=settings,
        build_model=lambda: (
            load_model(start, context.media, LoadSettings(device="cpu")) if start else _random_model(settings, context)
        ),
        stages=_stages(settings, how, imitation, again, tail, tasks, curve=curve),
    )


def _shuffled(number: int, size: int, seed: int) -> int:
    """The question at this place of endless epochs, each in an order of its own."""
    epoch, place = divmod(number, size)
    return int(generator_for(seed, "rl", "epoch", epoch).permutation(size)[place])


def _random_model(settings: TinyVistaSettings, context: RecipeContext) -> VisionLanguageModel:
    return tiny_model(
        lesson_texts(),
        context.media,
        size=settings.size,
        numbers=NUMBERS,
        phrases=(*PHRASES, *LOOPS) if settings.lessons.loop_share else PHRASES,
        seed=seed_for(context.seed, "weights"),
    )
