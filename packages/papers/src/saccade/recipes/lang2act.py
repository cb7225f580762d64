"""Lang2Act: tools that are words, learned from the model's own successes, over retrieved pages of documents.

A first reinforcement of descriptions in free words lets useful habits of looking emerge; right trajectories are curated
into a toolbox of words; a second reinforcement pays answers, and chains of these tools that are valid (equation 12).

Differs from the paper in: rules judge answers first, a model where they cannot decide; a tool that is used and nowhere
defined is refused; the trajectories that are curated also say which questions are right every time and left out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from saccade.config import RecipeContext, apply_overrides
from saccade.curation.rows import pass_rates_of
from saccade.errors import UserError
from saccade.models import instruction_style, load_model
from saccade.protocols import LinguisticToolbox, described_protocol
from saccade.protocols.toolchain import toolchain_protocol
from saccade.recipes.lang2act_data import answer_judge, curator_of, page_tasks
from saccade.recipes.lang2act_settings import SUCCESSES, Lang2ActSettings, PageReadingSettings
from saccade.recipes.lang2act_tools import CuratedRun, CuratorSource, curated_chains, curates_toolbox
from saccade.seeding import seed_for
from saccade.tasks import ByPassRate, Shuffled, TaskSampler
from saccade.tasks.curriculum import NOT_ALL_CORRECT
from saccade.train import Asked, Derive, Derived, EpisodeSpec, Material, Plan, SFTStage, Stage
from saccade.types import Task


def method(
    settings: PageReadingSettings,
    material: Material,
    training: Callable[[], Sequence[Task]],
    curator: CuratorSource,
    seed: int,
    *,
    imitated: Mapping[str, EpisodeSpec] | None = None,
) -> Sequence[Stage]:
    """Both reinforcements and the curation between them; ``training`` are the questions that are answered for it.

    Examples of the imitation are asked in words, or as ``imitated`` says of their stream.
    """
    run, rates = Derived("tools", CuratedRun.from_json), dict[str, float]()

    def toolbox() -> LinguisticToolbox:
        return run().toolbox

    paid = replace(settings.reward, toolbox=toolbox)
    words = Asked(
        material,
        settings.episodes(described_protocol(style=material.style)),
        replace(settings.reward, answer_weight=1.0, tool_weight=0.0),
    )
    chains = Asked(material, settings.episodes(toolchain_protocol(toolbox=toolbox, style=material.style)), paid)
    stages: list[Stage] = [] if material.first is None else [words.evaluation("before", material.first)]
    if material.examples is not None:
        shown = material.demonstrations({"main": words.episodes, **(imitated or {})})
        stages += [SFTStage(name="sft", source=shown, settings=settings.sft), *words.measured("after_sft")]
    stages += [words.reinforcement("action_rl", settings.action_rl), *words.measured("after_action")]
    if not settings.curates:
        return stages
    successes = words.evaluation(SUCCESSES, training, temperature=settings.action_rl.temperature)
    stages += [
        replace(successes, samples=settings.samples, on_finished=lambda tried: rates.update(pass_rates_of(tried))),
        Derive(name="tools", derive=curates_toolbox(settings.curation, curator), into=run, source=SUCCESSES),
    ]
    if settings.tool_sft.steps:
        own = curated_chains(run, training, chains.episodes, seed=seed)
        stages += [SFTStage(name="tool_sft", source=own, settings=settings.tool_sft)]
    stages += chains.measured("before_tools")

    def unsolved() -> TaskSampler:
        return ByPassRate(material.questions(), NOT_ALL_CORRECT, rates=rates)

    return [*stages, chains.reinforcement("tool_rl", settings.tool_rl, unsolved), *chains.measured("after_tools")]


def lang2act(context: RecipeContext) -> Plan:
    """Both stages on a checkpoint: ``--model``, ``--data``, and an index of pages by ``--set index=…``."""
    settings = apply_overrides(Lang2ActSettings(), context.overrides)
    if context.data is None or context.model is None:
        raise UserError(
            "this recipe trains a checkpoint on your own questions; give --model PATH and --data PATH, or see it in "
            "miniature: saccade train lang2act:tiny"
        )
    path, (training, held_out) = context.model, page_tasks(settings, context, context.data)
    judged = answer_judge(settings, context)
    material = Material(
        title=f"{path.name} learns tools of words on {context.data.name}",
        build_model=lambda: load_model(path, context.media, settings.model),
        load=settings.model,
        style=instruction_style(path),
        questions=lambda: Shuffled(training, seed=seed_for(context.seed, "rl")),
        held_out={"": lambda: held_out, "curve": lambda: held_out},
        resources=judged.resources,
        meters=judged.meters,
    )
    paid = replace(settings, reward=replace(settings.reward, accuracy=judged.accuracy))
    return material.plan(settings, method(paid, material, lambda: training, curator_of(settings), context.seed))
