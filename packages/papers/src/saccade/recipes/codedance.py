"""CodeDance: a model answers questions about images by writing Python, over several turns, in a sandbox.

Imitation of curated examples, then reinforcement by the outcome, a bonus for code where questions are hard, and
penalties for the turns whose code fails (equations 1 and 2).

Differs from the paper in: code that does no work is not paid, and a trajectory without an answer earns no bonus
(``paid_calls``, ``adaptive.pays_unanswered``); the paper's sandbox, data and teachers are not published.
"""

from collections.abc import Sequence

from saccade.config import RecipeContext, apply_overrides, read_own_tasks, split_held_out, without_held_out
from saccade.curation import read_examples
from saccade.errors import UserError
from saccade.models import instruction_style, load_model
from saccade.protocols import code_protocol, with_reading
from saccade.recipes.codedance_settings import CodeDanceSettings
from saccade.sandbox.sandbox import sandbox_for
from saccade.seeding import seed_for
from saccade.tasks import Epochs, Shuffled
from saccade.tools.code import Sessions, python_tool
from saccade.train import EpisodeSpec, Evaluate, Material, Plan, RLStage, SFTStage, Stage, Stream
from saccade.types import StreamExample


def method(settings: CodeDanceSettings, material: Material, sessions: Sessions) -> Sequence[Stage]:
    """Imitation where there are examples, then reinforcement; evaluations with more turns stand around them."""

    def episodes(turns: int, *, checks_work: bool = False, evidence_runs: int = 0) -> EpisodeSpec:
        return EpisodeSpec(
            protocol=with_reading(code_protocol(style=material.style, max_turns=turns), settings.reading),
            tools=(python_tool(sessions, checks_work=checks_work, evidence_runs=evidence_runs),),
            rollout=settings.rollout,
            max_turns=turns,
        )

    def evaluation(name: str, tasks: str) -> Evaluate:
        played = episodes(settings.evaluation_turns, evidence_runs=settings.evidence_runs)
        return Evaluate(name=name, tasks=material.held_out[tasks], episodes=played, reward=settings.outcome)

    shown = {"main": episodes(settings.training_turns)}
    imitation: list[Stage] = []
    if material.examples is not None and settings.sft.steps:
        # An expert's run may fail and be corrected; so was the example when it was curated.
        source = material.demonstrations(shown, may_fail=True)
        imitation = [SFTStage(name="sft", source=source, settings=settings.sft)]
        imitation += material.measured("after_sft", evaluation)
    reinforcement = RLStage(
        name="rl",
        # Checking makes runs anew: only where a reward reads what comes of it.
        streams=(Stream(name="main", episodes=episodes(settings.training_turns, checks_work=settings.checks_work)),),
        questions=material.questions,
        reward=settings.chosen_reward,
        adapt_algorithm=settings.turns.added_to if settings.turn_credit else None,
        settings=settings.rl,
        evaluation=evaluation("curve", "curve"),
    )
    before = [] if material.first is None else [evaluation("before", material.first)]
    return [*before, *imitation, reinforcement, *material.measured("after_rl", evaluation)]


def codedance(context: RecipeContext) -> Plan:
    """Imitation and reinforcement of a checkpoint: ``--model``, ``--data`` with questions, ``--set sft_data=FILE``."""
    settings = apply_overrides(CodeDanceSettings(), context.overrides)
    if context.data is None or context.model is None:
        raise UserError(
            "this recipe trains a checkpoint on your own questions; give --model PATH and --data PATH, or see it in "
            "miniature: saccade train codedance:tiny"
        )
    path, sandbox = context.model, sandbox_for(settings.isolation, settings.sandbox_server)
    training, held_out = split_held_out(read_own_tasks(context.data, context), settings.held_out_share, context)
    curated = [] if settings.sft_data is None else read_examples(settings.sft_data, context.media)
    curated = without_held_out(curated, held_out, lambda one: one.task, what=f"examples of {settings.sft_data}")
    shown = Epochs([StreamExample(example=one) for one in curated], seed=seed_for(context.seed, "sft"))
    material = Material(
        title=f"{path.name} writes code on {context.data.name}",
        build_model=lambda: load_model(path, context.media, settings.model),
        load=settings.model,
        style=instruction_style(path),
        questions=lambda: Shuffled(training, seed=seed_for(context.seed, "rl")),
        held_out={"": lambda: held_out, "curve": lambda: held_out},
        examples=(lambda index, _: shown(index)) if curated else None,
        resources=(sandbox,),
    )
    plan = material.plan(settings, method(settings, material, sandbox))
    return plan.with_judged_evidence(settings.evidence_judge, context.media, seed_for(context.seed, "evidence judge"))
