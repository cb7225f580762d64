"""VISTA-R1: a model learns in a gym of visual tools when to call which, and to reason from what they say.

Imitation of an expert's trajectories, reinforcement by a reward for format and answer without loops, and a tail patch:
reinforcement once more, on the questions that it answers now and then. ``tiny`` is the whole of it on drawn questions
of the seven types with the catalogue's tools that work offline, for a model made from nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from saccade.config.context import RecipeContext
from saccade.config.held_out import without_held_out
from saccade.config.settings import apply_overrides
from saccade.curation.vista.tool_examples import read_tool_examples
from saccade.errors import UserError
from saccade.models.base import instruction_style
from saccade.models.loading import load_model
from saccade.recipes.vista_data import read_questions
from saccade.recipes.vista_parts import TailPatch, ToolEpisodes, played, reinforcement, without_thoughts
from saccade.recipes.vista_settings import GymSettings, VistaSettings
from saccade.seeding import seed_for
from saccade.services.client.configured import ToolsOfRun, of_families, tools_of_run
from saccade.tasks.curriculum import Epochs, Shuffled, TaskSampler
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
            *stages(settings, how, imitation, again, tail, held_out, curve=how.evaluate("curve", held_out)),
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


def stages(
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
