"""How much results of calls raised the probability of the right answer."""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from PIL import Image

from saccade.engines.engine import ScoreRequest
from saccade.engines.local import LocalEngine
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import tiny_model
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.tagged import tagged_protocol
from saccade.rollout.batch import rollout_streams
from saccade.rollout.call_gains import GREY, CallProbe
from saccade.rollout.episodes import EpisodeSpec, RolloutRequest, RolloutSettings
from saccade.rollout.trajectory import demonstrate
from saccade.testing.tasks import tiny_example
from saccade.tools.images import IMAGE_TOOLS
from saccade.types import GAIN, Example, ImageRef, ToolCall, ToolResult, Trajectory

SPEC = EpisodeSpec(
    protocol=tagged_protocol(),
    tools=IMAGE_TOOLS,
    rollout=RolloutSettings(max_turn_tokens=8, max_tokens=9000, probes_calls=True),
)


@pytest.fixture(scope="module", params=["qwen3_vl", "internvl"])
def model(request: pytest.FixtureRequest) -> VisionLanguageModel:
    return tiny_model(["Which colour has the square? <answer>red</answer>"] * 9, MediaStore(), family=request.param)


@dataclass
class Scores:
    """An engine that gives these log-probabilities of texts, one after the other, and keeps what it was asked."""

    given: list[tuple[float, ...]]
    asked: list[ScoreRequest] = field(default_factory=list)
    media: MediaStore | None = None
    pictures: set[tuple[tuple[int, int], tuple[int, int, int]]] = field(default_factory=set)

    async def score_batch(self, requests: Sequence[ScoreRequest], *, temperature: float = 1.0):
        self.asked += requests
        if self.media is not None:
            for image in requests[1].images[1:]:
                picture = self.media.get(image)
                self.pictures.add((picture.size, picture.getpixel((0, 0))))
        return tuple(self.given.pop(0) for _ in requests)


def played(model: VisionLanguageModel, index: int = 0) -> tuple[Example, Trajectory]:
    example = tiny_example(model.media, index)
    return example, demonstrate(example, env=SPEC.environment(model.media, model.view), chat=model.chat)


def probed(model: VisionLanguageModel, example: Example, trajectory: Trajectory, engine: object) -> Trajectory:
    probe = CallProbe(protocol=SPEC.protocol, media=model.media)
    return asyncio.run(probe.probed(example.task, trajectory, engine=engine, chat=model.chat))  # type: ignore[arg-type]


def gains(trajectory: Trajectory) -> list[object]:
    return [turn.result.data.get(GAIN) for turn in trajectory.turns if turn.result is not None]


def test_the_gain_is_the_difference_of_geometric_means(model: VisionLanguageModel) -> None:
    example, trajectory = played(model)
    example = replace(example, task=replace(example.task, answer="red red"))
    assert len(model.chat.tokenizer.encode(example.task.answer, add_special_tokens=False)) == 3
    with_result = (math.log(0.9), math.log(0.4), math.log(0.6))
    without = (math.log(0.1),) * 3
    [gain] = gains(probed(model, example, trajectory, Scores([with_result, without])))
    assert gain == pytest.approx(0.6 - 0.1)


def test_both_texts_are_the_same_but_for_the_result(model: VisionLanguageModel) -> None:
    example, trajectory = played(model)
    before = len(trajectory.segments[0].ids) + len(trajectory.segments[1].ids)
    engine = Scores([(0.0,)] * 2, media=model.media)
    probed(model, example, trajectory, engine)
    shown, empty = engine.asked
    observed = trajectory.segments[2]
    assert shown.ids[:before] == empty.ids[:before] == trajectory.ids[:before]
    assert shown.ids[before : before + len(observed.ids)] == observed.ids
    gold = model.chat.tokenizer.encode(example.task.answer, add_special_tokens=False)
    for one in engine.asked:
        assert list(one.ids[one.start :]) == gold
        assert model.chat.decode(one.ids[before : one.start]).endswith("<think></think><answer>")
        assert one.ids.count(model.image_token_id) == sum(map(model.chat.token_count, one.images))
    crop = observed.images[0]
    assert shown.images == trajectory.images
    assert engine.pictures == {((crop.width, crop.height), GREY)}
    assert "of the original" not in model.chat.decode(empty.ids[before:])
    assert empty.images[1].hash not in model.media


def test_a_real_engine_gives_a_gain_that_its_own_scores_explain(model: VisionLanguageModel) -> None:
    example, trajectory = played(model, 1)
    engine = LocalEngine(model)
    recorder = Scores([(0.0,)] * 2)
    probed(model, example, trajectory, recorder)
    [gain] = gains(probed(model, example, trajectory, engine))
    one = recorder.asked[0]
    scored = asyncio.run(engine.score(one.ids, one.images, one.start))
    assert isinstance(gain, float)
    assert -1 < gain < math.exp(sum(scored) / len(scored))
    assert gain != 0.0


def test_texts_share_what_stands_before_them_and_the_answer_alone_counts(model: VisionLanguageModel) -> None:
    example, trajectory = played(model)
    turn, (prompt, action, shown, *others) = trajectory.turns[0], trajectory.segments
    result = ToolResult(text="the square is red", is_ok=True)
    observation = SPEC.protocol.observe(result, 1)
    ids = model.chat.observation(observation, ends_with_eos=False).ids
    turns = (replace(turn, result=result, observation=observation), *trajectory.turns[1:])
    segments = (prompt, action, replace(shown, ids=ids, images=()), *others)
    engine = LocalEngine(model)
    recorder = Scores([(0.0,)] * 2)
    probed(model, example, replace(trajectory, turns=turns, segments=segments), recorder)
    assert {one.start for one in recorder.asked} == {len(prompt.ids) + len(action.ids)}
    [gain, *_] = gains(probed(model, example, replace(trajectory, turns=turns, segments=segments), engine))
    count = len(model.chat.tokenizer.encode(example.task.answer, add_special_tokens=False))
    alone = [asyncio.run(engine.score(one.ids, one.images, len(one.ids) - count)) for one in recorder.asked]
    with_result, without = (math.exp(sum(scored) / count) for scored in alone)
    assert gain == pytest.approx(with_result - without, abs=1e-6)


@pytest.mark.parametrize("change", ["failed call", "boxes", "no answer", "no observation"])
def test_what_has_no_gain_is_not_asked_for(model: VisionLanguageModel, change: str) -> None:
    example, trajectory = played(model)
    turn = trajectory.turns[0]
    assert isinstance(turn.action, ToolCall)
    if change == "failed call":
        turn = replace(turn, result=ToolResult(text="error", is_ok=False))
    elif change == "boxes":
        example = replace(example, task=replace(example.task, answer_kind="boxes"))
    elif change == "no answer":
        example = replace(example, task=replace(example.task, answer=" "))
    else:
        turn = replace(turn, observation=None)
    trajectory = replace(trajectory, turns=(turn, *trajectory.turns[1:]))
    assert probed(model, example, trajectory, Scores([])) == trajectory


def test_a_rollout_probes_each_trajectory_as_it_ends(model: VisionLanguageModel) -> None:
    """The untrained model calls nothing: its trajectories are as without the probe; a probe asks the batch's engine."""
    example = tiny_example(model.media, 0)
    requests = [RolloutRequest(task=example.task, stream="main", sample=n, seed=n) for n in range(2)]
    plain = replace(SPEC, rollout=replace(SPEC.rollout, probes_calls=False))
    asked: list[Trajectory] = []

    @dataclass(frozen=True)
    class Probe:
        async def probed(self, task, trajectory, *, engine, chat):
            assert (task, chat) == (example.task, model.chat)
            await engine.score(trajectory.ids, trajectory.images, len(trajectory.ids) - 1)
            asked.append(trajectory)
            return replace(trajectory, failure="probed")

    def rolled(spec: EpisodeSpec, **probe: object) -> list[Trajectory]:
        how = replace(spec.played_as(model.media, model.view), **probe)  # type: ignore[arg-type]
        seen: list[Trajectory] = []
        done = rollout_streams(
            requests, engine=LocalEngine(model), chat=model.chat, streams={"main": how}, on_finished=seen.append
        )
        assert sorted(seen, key=lambda one: one.sample) == done
        return done

    assert rolled(SPEC) == rolled(plain)
    assert plain.played_as(model.media, model.view).probe is None
    assert [one.failure for one in rolled(plain, probe=Probe())] == ["probed"] * 2
    assert len(asked) == 2


def test_pictures_that_were_there_before_stay(model: VisionLanguageModel) -> None:
    example, trajectory = played(model)
    crop = trajectory.segments[2].images[0]
    grey: ImageRef = model.media.add(Image.new("RGB", (crop.width, crop.height), GREY))
    probed(model, example, trajectory, Scores([(0.0,)] * 2))
    assert grey.hash in model.media
    model.media.forget(grey)
