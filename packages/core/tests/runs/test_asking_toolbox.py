"""A checkpoint that was trained to use linguistic tools carries its toolbox, and is asked with it or with another."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from saccade.config.context import RecipeContext
from saccade.errors import UserError
from saccade.learner.optimizer import OptimizerSettings
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.checkpoint import ASKING_RECORD
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols import (
    ChainCall,
    LinguisticTool,
    LinguisticToolbox,
    chain_thought,
    read_toolbox,
    toolchain_protocol,
)
from saccade.recipes.evaluation import evaluation
from saccade.rewards.reward import OutcomeReward
from saccade.rollout.episodes import RolloutSettings
from saccade.runs.asking import read_asking
from saccade.runs.progress import Progress
from saccade.testing.tasks import TINY_VIEW, tiny_example
from saccade.train.plan import Demonstration, EpisodeSpec, Evaluate, Plan, SFTStage
from saccade.train.run import run_plan
from saccade.train.stage_settings import SFTSettings
from saccade.types import Answer, Example, ExpertTurn

SIZE = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48)
BOX = LinguisticToolbox((LinguisticTool("read_cell", "Read a cell.", args="Image k: row"),))
OTHER = LinguisticToolbox((LinguisticTool("zoom", "Look closer."),))
EPISODES = EpisodeSpec(
    protocol=toolchain_protocol(toolbox=BOX, style="full"),
    tools=(),
    rollout=RolloutSettings(max_turn_tokens=6, max_tokens=1000),
    max_turns=1,
)


@dataclass(frozen=True, kw_only=True)
class Nothing:
    """A recipe without settings."""


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out, media = tmp_path_factory.mktemp("run") / "run", MediaStore()

    def build_model() -> VisionLanguageModel:
        return tiny_model(["Which colour has the square? I look."] * 9, media, size=SIZE, vocab_size=320, seed=4)

    def demonstration(index: int, _: float) -> Demonstration:
        task = tiny_example(media, index).task
        thought = chain_thought("Image 1.", [ChainCall(name="read_cell", args="Image 1: x", finding=task.answer)])
        example = Example(task=task, turns=(ExpertTurn(thought=thought, action=Answer(text=task.answer)),))
        return Demonstration(example=example, episodes=EPISODES)

    settings = SFTSettings(steps=1, batch_size=1, optimizer=OptimizerSettings(learning_rate=1e-3))
    after = Evaluate(
        name="after", tasks=lambda: [tiny_example(media, 0).task], episodes=EPISODES, reward=OutcomeReward()
    )
    stages = (SFTStage(name="sft", source=demonstration, settings=settings), after)
    plan = Plan(title="Chains", settings=Nothing(), build_model=build_model, stages=stages)
    run_plan(plan, out=out, media=media, seed=7, progress=Progress("quiet"))
    return out / "checkpoints" / "sft-000001"


def planned(checkpoint: Path, toolbox: LinguisticToolbox | None = None, protocols: tuple[str, ...] = ()) -> Plan:
    context = RecipeContext(model=checkpoint)
    return evaluation(context, family="counting", count=1, toolbox=toolbox, protocols=protocols)  # type: ignore[arg-type]


def instructions(plan: Plan) -> str:
    [stage] = plan.stages
    assert isinstance(stage, Evaluate)
    task = tiny_example(MediaStore()).task
    [system] = stage.episodes.protocol.prompt(task, (), TINY_VIEW)[0].parts
    assert isinstance(system, str)
    return system


def test_the_record_has_the_toolbox_and_the_words(checkpoint: Path) -> None:
    record = read_asking(checkpoint)
    assert record is not None
    [way] = record.evaluated
    assert (way.protocol, way.is_known, way.style) == ("toolchain", True, "full")
    assert LinguisticToolbox.from_json(way.toolbox) == BOX
    assert "read_cell" in str(way.system)


def test_it_is_asked_with_its_own_toolbox_or_with_another(checkpoint: Path) -> None:
    assert "read_cell" in instructions(planned(checkpoint))
    other = instructions(planned(checkpoint, OTHER))
    assert "zoom" in other
    assert "read_cell" not in other


def test_any_model_is_asked_with_a_toolbox_and_none_without(checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text((checkpoint / "config.json").read_text())
    assert "zoom" in instructions(planned(tmp_path, OTHER, ("toolchain",)))
    with pytest.raises(UserError, match="none is given; give its file"):
        planned(tmp_path, None, ("toolchain",))
    with pytest.raises(UserError, match="--toolbox would have no effect: described asks with no linguistic tools"):
        planned(tmp_path, OTHER, ("described",))


def test_a_record_whose_toolbox_is_missing_or_damaged_says_so(checkpoint: Path, tmp_path: Path) -> None:
    for name in ("config.json", ASKING_RECORD):
        (tmp_path / name).write_text((checkpoint / name).read_text())
    record = json.loads((tmp_path / ASKING_RECORD).read_text())
    for ways in ([*record["evaluated"]], [*record["trained"].values()]):
        for way in ways:
            del way["toolbox"]
    (tmp_path / ASKING_RECORD).write_text(json.dumps(record))
    with pytest.raises(UserError, match="protocol 'toolchain' is its recipe's own"):
        planned(tmp_path)
    assert "zoom" in instructions(planned(tmp_path, OTHER))
    for way in record["evaluated"]:
        way["toolbox"] = {"tools": [{"name": "a b", "description": "", "args": ""}]}
    (tmp_path / ASKING_RECORD).write_text(json.dumps(record))
    with pytest.raises(UserError, match="'a b' cannot name a linguistic tool"):
        planned(tmp_path)


def test_a_file_of_a_toolbox_is_read(tmp_path: Path) -> None:
    path = tmp_path / "box.json"
    path.write_text(json.dumps({**BOX.to_json(), "curation": {}}))
    assert read_toolbox(path) == BOX
    path.write_text("{")
    with pytest.raises(UserError, match="cannot be read as a toolbox"):
        read_toolbox(path)
