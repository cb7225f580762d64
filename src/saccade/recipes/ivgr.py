"""iVGR: each question in two streams, boxes written out and plain words; words are paid for agreeing with boxes.

A cold start by imitation of both, then reinforcement of both with the archive and a judge, and evaluations in words,
with boxes, and with crops at test time. ``tiny`` is the whole of it on drawn questions with an exact judge, for a
model made from nothing.
"""

from collections.abc import Sequence

from saccade.config.context import RecipeContext
from saccade.config.settings import apply_overrides
from saccade.errors import UserError
from saccade.models.base import instruction_style
from saccade.models.loading import load_model
from saccade.protocols.two_streams import TEXTUAL
from saccade.recipes._ivgr_judges import Judges, Meter, judges
from saccade.recipes.ivgr_data import general_source, read_questions, read_trajectories
from saccade.recipes.ivgr_parts import StreamEpisodes, played, reinforcement, second_looks
from saccade.recipes.ivgr_settings import IvgrSettings, TwoStreamSettings
from saccade.rewards.judges.exact_judge import ExactJudge
from saccade.seeding import seed_for
from saccade.tasks.curriculum import Epochs, Shuffled
from saccade.train.plan import Demonstration, DemonstrationSource, Plan, SFTStage, Stage
from saccade.types import Task


def ivgr(context: RecipeContext) -> Plan:
    """Both stages on a checkpoint: ``--model``, ``--data`` with boxes, ``--set sft_data=FILE``, and a judge."""
    settings = apply_overrides(IvgrSettings(), context.overrides)
    if context.data is None or context.model is None:
        raise UserError(
            "this recipe trains a checkpoint on your own questions with boxes; give --model PATH and --data PATH, or "
            "see it in miniature: saccade train ivgr:tiny"
        )
    judged = judges_of(settings, context, exact=None)
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


def judges_of(settings: TwoStreamSettings, context: RecipeContext, *, exact: ExactJudge | None) -> Judges:
    # In one stream alone there is nothing to agree with.
    return judges(
        settings.judge,
        judges_consistency=settings.consistency and settings.streams == "both",
        judges_answers=settings.accuracy_judge,
        exact=exact,
        media=context.media,
        seed=seed_for(context.seed, "judge"),
    )
