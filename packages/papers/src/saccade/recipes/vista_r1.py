"""VISTA-R1: a model learns in a gym of visual tools when to call which, and to reason from what they say.

Imitation of an expert's trajectories, reinforcement by a reward for format and answer without loops, and a tail patch:
reinforcement once more, on the questions that the model answers now and then, easy ones first.

Differs from the paper in: loops are found in any text, not between full stops alone; an answer counts by the metric of
its data set; trajectories to imitate are one's own (``saccade curate vista``), for the paper's are not published.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from saccade.config import RecipeContext, apply_overrides
from saccade.errors import UserError
from saccade.models import instruction_style, load_model
from saccade.protocols import direct_protocol, tagged_protocol, with_reading
from saccade.recipes.vista_data import read_questions, read_trajectories
from saccade.recipes.vista_settings import GymSettings, VistaSettings
from saccade.rewards.vista import VistaReward
from saccade.seeding import seed_for
from saccade.services.client import NO_TOOLS, Tools, of_families, tools_of_run
from saccade.tasks import Shuffled, TailPatch, TaskSampler
from saccade.train import EpisodeSpec, Evaluate, Material, Plan, RLStage, SFTStage, Stage, Stream


def method(settings: GymSettings, material: Material, tools: Tools, tail: TailPatch) -> Sequence[Stage]:
    """The stages that the settings name, an evaluation after each; decoding stops at the end of a call."""

    def episodes(offered: Tools) -> EpisodeSpec:
        protocol, turns = (tagged_protocol, settings.max_turns) if settings.with_tools else (direct_protocol, 1)
        told = with_reading(protocol(style=material.style, max_turns=turns), settings.reading)
        return EpisodeSpec(protocol=told, tools=offered, rollout=settings.rollout, max_turns=turns)

    everywhere, training = episodes(tools), episodes(of_families(tools, settings.tool_families))

    def evaluation(name: str, tasks: str = "") -> Evaluate:
        return Evaluate(name=name, tasks=material.held_out[tasks], episodes=everywhere, reward=VistaReward())

    def reinforcement(name: str, steps: int, questions: Callable[[], TaskSampler]) -> RLStage:
        return RLStage(
            name=name,
            streams=(Stream(name="main", episodes=training),),
            questions=questions,
            reward=settings.chosen_reward,
            settings=replace(settings.rl, steps=steps),
            evaluation=evaluation("curve", "curve") if settings.rl.evaluate_every else None,
        )

    stages: list[Stage] = [] if material.first is None else [evaluation("before", material.first)]
    if "sft" in settings.stages and material.examples is not None:
        # A careless expert's tool may find nothing.
        shown = material.demonstrations({"main": everywhere}, may_fail=True)
        stages += [SFTStage(name="sft", source=shown, settings=settings.sft), evaluation("after_sft")]
    if "rl" in settings.stages:
        stages += [reinforcement("rl", settings.rl.steps, material.questions), evaluation("after_rl")]
    if "tail" in settings.stages:
        questions = material.questions
        if settings.tail.easy_to_hard:
            least = settings.rl.tasks_per_step
            questions = lambda: tail.questions(settings.tail.band, least=least)  # noqa: E731
            rates = replace(evaluation("pass_rates"), tasks=tail.tasks, episodes=training, on_finished=tail.learn)
            stages.append(replace(rates, temperature=settings.rl.temperature, samples=settings.tail.samples))
        stages += [reinforcement("tail", settings.tail.steps, questions), evaluation("after_tail")]
    return stages


def vista_r1(context: RecipeContext) -> Plan:
    """All stages on a checkpoint: ``--model``, ``--data``, and ``--set tools=tools.toml`` or ``service=http://…``."""
    settings = apply_overrides(VistaSettings(), context.overrides)
    if context.data is None or context.model is None:
        raise UserError(
            "this recipe trains a checkpoint on questions; give --model PATH and --data PATH (a folder with a folder "
            "for each data set, or a file of your own), or see it in miniature: saccade train vista_r1:tiny"
        )
    path, made = context.model, tools_of_run(settings.tools, settings.service) if settings.with_tools else NO_TOOLS
    if settings.with_tools and not made.tools:
        raise UserError("there is no tool to call; set tools=tools.toml or service=http://…, or with_tools=false")
    asked = read_questions(context.data, settings, context)
    by_id = {task.id: task for task in asked.training}
    material = Material(
        title=f"{path.name} learns when to call which tool on {context.data.name}",
        build_model=lambda: load_model(path, context.media, settings.model),
        load=settings.model,
        style=instruction_style(path),
        questions=lambda: Shuffled(asked.training, seed=seed_for(context.seed, "rl")),
        held_out={"": lambda: asked.held_out, "curve": lambda: asked.held_out},
        examples=read_trajectories(settings, asked.held_out, context),
        resources=made.resources,
    )
    tail = TailPatch(keys=lambda: list(by_id), task_of=by_id.__getitem__, seed=context.seed)
    return material.plan(settings, method(settings, material, made.tools, tail))
