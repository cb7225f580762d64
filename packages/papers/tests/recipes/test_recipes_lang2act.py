"""The Lang2Act recipe: what is refused, which stages each row of Table 2 has, and a whole run in miniature."""

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from PIL import Image

from saccade.config import apply_overrides
from saccade.config.context import RecipeContext
from saccade.curation.linguistic_tools import CuratedTools
from saccade.errors import UserError
from saccade.gym.drawn.plates import MARKS
from saccade.miniature.lang2act import TinyLang2ActSettings, tiny
from saccade.miniature.reading import finding_sentence
from saccade.models.checkpoint import base_checkpoint
from saccade.protocols import read_chain
from saccade.recipes.lang2act import lang2act
from saccade.recipes.lang2act_settings import SUCCESSES
from saccade.rewards import Lang2ActReward
from saccade.runs.records import read_records
from saccade.testing.scripted import ScriptedEngine
from saccade.train import Derive, Evaluate, Plan, RLStage, run_plan
from saccade.types import Attempt

SMALL = (
    *("sft.steps=0", "tool_sft.steps=3", "tool_sft.batch_size=4", "kinds=mark", "documents=8", "rl_documents=4"),
    *(
        "size.hidden=32",
        "size.heads=2",
        "size.kv_heads=1",
        "size.mlp=64",
        "size.vision_hidden=32",
        "size.vision_mlp=48",
    ),
    *("rl_questions=16", "samples=4", "evaluation_tasks=12", "action_rl.steps=0", "tool_rl.steps=0"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("lang2act")
    rows = []
    for number in range(8):
        Image.new("RGB", (64, 48), (20 * number, 90, 120)).save(made / f"{number}.png")
        rows.append({"question": "Which colour?", "answer": "blue", "images": [f"{number}.png"], "id": str(number)})
    (made / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (made / "bare.jsonl").write_text("".join(json.dumps({**row, "images": []}) + "\n" for row in rows))
    return made


def planned(data: Path, *settings: str) -> Plan:
    plan = lang2act(RecipeContext(model=base_checkpoint(), data=data, overrides=settings, seed=1))
    plan.check()
    return plan


def names(plan: Plan) -> Sequence[str]:
    return [stage.name for stage in plan.stages]


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (("index=pages.index",), "name that with encoder="),
        (("pages=0",), "shows no page"),
        (("samples=0",), "finds no success to curate"),
        (("curator.at=http://localhost:1/v1",), "say with curator.model"),
        (("curator.at=nowhere",), "neither the address of a server nor a checkpoint"),
        (("curation.k=0",), "k=0 must be a whole number of 1 or more"),
        (("held_out_share=1",), "between 0 and 1"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_loaded(folder: Path, settings: Sequence[str], why: str) -> None:
    with pytest.raises(UserError, match=why):
        planned(folder / "questions.jsonl", *settings)


def test_questions_without_pages_and_a_recipe_without_data_are_told(folder: Path) -> None:
    with pytest.raises(UserError, match=r"8 of 8 questions have no images .* give them pages with index="):
        planned(folder / "bare.jsonl")
    with pytest.raises(UserError, match="lang2act:tiny"):
        lang2act(RecipeContext())


def test_rows_of_table_2_are_settings(folder: Path) -> None:
    data = folder / "questions.jsonl"
    both = ["before", "action_rl", "after_action", SUCCESSES, "tools", "before_tools", "tool_rl", "after_tools"]
    assert names(planned(data)) == both
    assert names(planned(data, "curates=false")) == both[:3]
    first, second = (stage for stage in planned(data).stages if isinstance(stage, RLStage))
    assert isinstance(first.reward, Lang2ActReward)
    assert isinstance(second.reward, Lang2ActReward)
    assert (first.reward.answer_weight, first.reward.tool_weight) == (1.0, 0.0)
    assert (second.reward.answer_weight, second.reward.tool_weight) == (0.8, 0.2)
    assert [stage.settings.algorithm.name for stage in (first, second)] == ["dapo", "dapo"]
    assert second.streams[0].episodes.protocol.name == "toolchain"
    [derive] = [stage for stage in planned(data).stages if isinstance(stage, Derive)]
    assert derive.source == SUCCESSES


@dataclass
class Guessing:
    """An engine's script that guesses: in words until there is a toolbox, then by its tool, or now and then another."""

    tools: Path

    def __call__(self, label: str, turn: int) -> str:
        draw = zlib.crc32(label.encode())
        mark = list(MARKS)[draw % len(MARKS)]
        name = "guess_mark" if draw // 8 % 4 else "look_up"
        how = finding_sentence("guess_mark", 2, mark) + "."
        if self.tools.exists():
            how = f'<tool name="{name}" args="Image 2">{mark}</tool>'
        return f"<think>Image 2.</think><description>{how}</description><answer>{mark}</answer>"


@pytest.mark.parametrize(
    ("settings", "count"),
    [
        ((), 960),
        (("action_rl.steps=2", "tool_rl.steps=2"), 64),
        (("action_rl.steps=0",), 480),
        (("action_rl.steps=0", "tool_rl.steps=0"), 960),
        (("curates=false", "action_rl.steps=60"), 960),
    ],
)
def test_no_more_questions_are_answered_for_the_curation_than_the_steps_ask(
    settings: Sequence[str], count: int
) -> None:
    assert apply_overrides(TinyLang2ActSettings(), settings).asked_questions == count
    few = ("rl_documents=2", "documents=2", "sft.steps=0", "action_rl.tasks_per_step=1", "tool_rl.tasks_per_step=1")
    plan = tiny(RecipeContext(overrides=(*few, "rl_questions=5", "action_rl.steps=1", "tool_rl.steps=2"), seed=2))
    [successes] = [stage for stage in plan.stages if isinstance(stage, Evaluate) and stage.name == SUCCESSES]
    assert len(successes.tasks()) == 3


def test_a_run_in_miniature_curates_its_own_successes_and_learns_chains(tmp_path: Path) -> None:
    context, out = RecipeContext(overrides=SMALL, seed=2), tmp_path / "run"
    script = Guessing(out / "derived" / "tools.json")
    plan = replace(tiny(context), engine=lambda run: ScriptedEngine(script=script, chat=run.model.chat))
    summaries = run_plan(plan, out=out, seed=2, media=context.media)
    measured = [name for name in summaries if not name.endswith(("_other", "_oracle"))]
    assert measured == ["after_action", SUCCESSES, "before_tools", "after_tools"]
    assert [f"{name}_{kind}" for name in measured if name != SUCCESSES for kind in ("other", "oracle")] == [
        one for one in summaries if one not in measured
    ]
    made = json.loads((out / "derived" / "tools.json").read_text())
    curated = CuratedTools.from_json(made)
    assert curated.toolbox.names == ("guess_mark",)
    right = {one.task.id for one in read_records(out / "evaluations" / f"{SUCCESSES}.jsonl") if is_right(one)}
    assert {one.trajectory for one in curated.sets} == made["chains"].keys() == right
    assert all(one["thought"].startswith("Image 2.\n<description><tool name=") for one in made["chains"].values())
    found = [one.trajectory for one in read_records(out / "evaluations" / "after_tools.jsonl")]
    scores = [one.score for one in found if one.score is not None]
    assert {score.values["tool"] for score in scores} == {0.0, 1.0}
    for trajectory, score in zip(found, scores, strict=True):
        chain = read_chain(trajectory.turns[-1].text, curated.toolbox, 3)
        assert score.values["tool"] == chain.is_valid
        assert score.total == pytest.approx(0.8 * bool(score.is_right) + 0.2 * chain.is_valid)
        assert chain.error in (None, "tool_not_contained")
    checkpoint = max((out / "checkpoints").glob("tool_sft-*"))
    asked = json.loads((checkpoint / "saccade_asking.json").read_text())["trained"]
    assert {name: way["protocol"] for name, way in asked.items()} == {"main": "described", "tool_rl/main": "toolchain"}


def is_right(attempt: Attempt) -> bool:
    return attempt.trajectory.score is not None and bool(attempt.trajectory.score.is_right)
