"""A foreign model is measured by what it knows, and nobody is trained by that reading."""

from dataclasses import replace
from pathlib import Path

import pytest

from saccade.config.context import RecipeContext
from saccade.errors import UserError
from saccade.evaluation.sample_files import read_samples
from saccade.evaluation.samples import SampleSet
from saccade.protocols import Reading, direct_protocol, with_reading
from saccade.recipes.evaluation import evaluation
from saccade.recipes.evaluation_settings import ServedModel
from saccade.rewards.reward import OutcomeReward
from saccade.rollout.episodes import EpisodeSpec, RolloutSettings
from saccade.runs.asking import ASKING, Way
from saccade.testing import TINY_VIEW
from saccade.testing.chat_server import ChatServer, chat_reply
from saccade.train.plan_record import way_of
from saccade.train.run import run_plan
from saccade.train.stage_settings import RLSettings
from saccade.train.stages import RLStage, Stream


def measured(out: Path, reading: Reading) -> SampleSet:
    with ChatServer(lambda _: chat_reply("3")) as server:
        context = RecipeContext(overrides=("server.retries=0", f"reading={reading}"))
        served = ServedModel(url=server.url, name="stub")
        plan = evaluation(context, family="counting", count=3, protocols=("direct",), server=served)
        run_plan(plan, out=out, media=context.media, seed=0)
    return read_samples(out / "samples" / "direct.jsonl")


def test_bare_answers_of_a_served_model_count_in_the_foreign_reading_alone(tmp_path: Path) -> None:
    strict, foreign = (measured(tmp_path / name, name) for name in ("strict", "foreign"))
    assert [one.status for one in strict.samples] == ["turn_limit"] * 3
    assert [one.status for one in foreign.samples] == ["answered"] * 3


def test_a_record_keeps_the_reading_and_names_none_where_it_is_strict() -> None:
    strict = EpisodeSpec(protocol=direct_protocol(), rollout=RolloutSettings(), max_turns=1)
    lenient = replace(strict, protocol=with_reading(strict.protocol, "lenient"))
    records = [way_of(one, TINY_VIEW).as_json() for one in (strict, lenient)]
    assert [record.get("reading") for record in records] == [None, "lenient"]
    way = ASKING.reader(Way).from_json(records[1], "the way")
    assert (way, way.is_known, way.describe()) == (
        way_of(lenient, TINY_VIEW),
        True,
        "direct without tools, 1 turn, lenient reading",
    )


def test_no_stage_of_training_pays_bare_answers() -> None:
    def stage(reading: Reading) -> RLStage:
        protocol = with_reading(direct_protocol(), reading)
        episodes = EpisodeSpec(protocol=protocol, rollout=RolloutSettings(), max_turns=1)
        streams = (Stream(name="main", episodes=episodes),)
        settings = RLSettings(steps=1, tasks_per_step=1, group_size=2)
        return RLStage(name="rl", streams=streams, questions=list, reward=OutcomeReward(), settings=settings)  # type: ignore[arg-type, return-value]

    stage("lenient")
    with pytest.raises(UserError, match="the stream main reads bare answers"):
        stage("foreign")
