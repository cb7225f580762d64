"""A second look as a stage of a run: what is on disk, what a killed run gives again, what a plan refuses."""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from PIL import Image

from saccade.errors import MachineError, UserError
from saccade.evaluation.one_image import answer_one
from saccade.evaluation.summary import StageSummary
from saccade.evaluation.views import CropSettings, Views
from saccade.geometry import Box
from saccade.learner.learner import OptimizerSettings
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.protocol import ChatProtocol, ParsedTurn
from saccade.protocols.tagged import direct_protocol
from saccade.protocols.two_streams import grounded_protocol, textual_protocol
from saccade.rewards.reward import OutcomeReward
from saccade.rollout.episodes import RolloutSettings
from saccade.runs.asking import read_asked
from saccade.runs.metrics import read_metrics, without_times
from saccade.runs.progress import Progress
from saccade.runs.records import read_records
from saccade.tasks.curriculum import InOrder
from saccade.testing.scripted import ScriptedEngine
from saccade.testing.tasks import tiny_example
from saccade.train.algorithm_settings import AlgorithmSettings, chosen_algorithm
from saccade.train.plan import Demonstration, EpisodeSpec, Evaluate, Plan, RLStage, SFTStage, Stage, Stream
from saccade.train.run import run_plan
from saccade.train.stage_settings import RLSettings, SFTSettings
from saccade.types import Answer, BoxMention, Example, Score, Task, Trajectory

SIZE = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48)
ROLLOUT = RolloutSettings(max_turn_tokens=12, max_tokens=400)
SFT = SFTSettings(steps=1, batch_size=1, optimizer=OptimizerSettings(learning_rate=1e-3), checkpoint_every=1)
LOOK = Views(cut=CropSettings(min_side_px=16))


class Killed(BaseException):
    """What a process does not survive."""


def seeing_boxes(protocol: ChatProtocol) -> ChatProtocol:
    """Reads two boxes out of any text, for an untrained model writes none; a third of the texts has none."""

    def parse(text: str) -> ParsedTurn:
        digest = hashlib.sha256(text.encode()).digest()
        boxes = [Box(x, y, x + 300, y + 200) for x, y in (digest[0:2], digest[2:4])]
        mentions = tuple(BoxMention(text="", box=box) for box in boxes)
        return ParsedTurn(
            thought="", action=Answer(text="red"), is_well_formed=True, boxes=mentions if digest[4] % 3 else ()
        )

    return replace(protocol, parse=parse)


def once(protocol: ChatProtocol) -> EpisodeSpec:
    return EpisodeSpec(protocol=protocol, tools=(), rollout=ROLLOUT, max_turns=1)


GROUNDED = once(seeing_boxes(grounded_protocol(style="brief")))
TEXTUAL = once(textual_protocol(style="brief"))
SILENT = once(direct_protocol(style="brief"))


@dataclass(frozen=True, kw_only=True)
class Nothing:
    """A recipe without settings."""


@dataclass
class Recipe:
    """One step of imitation, a second look, one more step."""

    media: MediaStore = field(default_factory=MediaStore)
    reward: Callable[[Task, Trajectory], Score] = OutcomeReward()
    views: Views = LOOK
    temperature: float = 1.0
    is_dying_later: bool = False

    def build_model(self) -> VisionLanguageModel:
        texts = ["Which colour has the square? I look."] * 9
        return tiny_model(texts, self.media, size=SIZE, vocab_size=320, seed=4)

    def imitation(self, name: str, *, is_dying: bool = False) -> SFTStage:
        def demonstration(index: int, _: float) -> Demonstration:
            if is_dying:
                raise Killed
            example = tiny_example(self.media, 50 + index)
            return Demonstration(example=Example(task=example.task, turns=example.turns[1:]), episodes=SILENT)

        return SFTStage(name=name, source=demonstration, settings=SFT)

    def look(self, name: str = "look") -> Evaluate:
        return Evaluate(
            name=name,
            tasks=lambda: [tiny_example(self.media, index).task for index in range(6)],
            episodes=TEXTUAL,
            reward=self.reward,
            temperature=self.temperature,
            first_pass=GROUNDED,
            views=self.views,
        )

    def plan(self, *stages: Stage) -> Plan:
        stages = stages or (self.imitation("sft"), self.look(), self.imitation("more", is_dying=self.is_dying_later))
        return Plan(title="test", settings=Nothing(), build_model=self.build_model, stages=stages)

    def run(
        self, out: Path, *stages: Stage, resume: bool = False, accepted: Collection[str] = ()
    ) -> Mapping[str, StageSummary]:
        plan, quiet = self.plan(*stages), Progress("quiet")
        return run_plan(plan, out=out, media=self.media, seed=9, resume=resume, accepted=accepted, progress=quiet)


def outcome(run: Path) -> dict[str, object]:
    """All that the same seed must give again."""
    files = [
        *run.glob("evaluations/*.jsonl"),
        *run.glob("media/*.png"),
        *(file for file in run.glob("checkpoints/**/*") if file.is_file()),
    ]
    digests = {str(file.relative_to(run)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    return {**digests, "metrics": without_times(run / "metrics.jsonl")}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    Recipe().run(out)
    return out


def test_both_passes_are_recorded_each_under_its_name_with_the_pictures_that_were_seen(undisturbed: Path) -> None:
    first = list(read_records(undisturbed / "evaluations" / "look_first_pass.jsonl"))
    second = list(read_records(undisturbed / "evaluations" / "look.jsonl"))
    assert [one.task.id for one in first] == [one.task.id for one in second]
    assert {one.trajectory.stream for one in first} == {"first_pass"}
    views = [len(late.task.images) - len(early.task.images) for early, late in zip(first, second)]
    assert len(set(views)) > 1, "some questions get views and some get none"
    assert views == [
        0 if not early.trajectory.turns[0].boxes else len(late.trajectory.images) - 1
        for early, late in zip(first, second)
    ]
    for attempt in second:
        for image in attempt.task.images:
            with Image.open(undisturbed / "media" / f"{image.hash}.png") as picture:
                assert picture.size == (image.width, image.height)


def test_metrics_speak_of_both_passes_and_of_the_views(undisturbed: Path) -> None:
    [values] = [values for position, values in read_metrics(undisturbed / "metrics.jsonl") if position.stage == "look"]
    second = list(read_records(undisturbed / "evaluations" / "look.jsonl"))
    seen = [len(one.task.images) - 1 for one in second]
    assert values["views/none"] == seen.count(0) / len(seen)
    assert values["views/crops"] + values["views/union"] == pytest.approx(sum(seen) / len(seen))
    assert "reward/accuracy" in values
    assert "first_pass/reward/accuracy" in values


@dataclass
class DiesScoring:
    """Ends the process at the last trajectory of one pass, before the pass is over."""

    stream: str
    left: int = 6

    def __call__(self, task: Task, trajectory: Trajectory) -> Score:
        if trajectory.stream == self.stream:
            self.left -= 1
            if self.left == 0:
                raise Killed
        return OutcomeReward()(task, trajectory)


@pytest.mark.parametrize("stream", ["first_pass", "evaluation"])
def test_a_run_that_is_killed_in_either_pass_ends_with_the_same_bytes(
    tmp_path: Path, undisturbed: Path, stream: str
) -> None:
    out = tmp_path / "run"
    with pytest.raises(Killed):
        Recipe(reward=DiesScoring(stream)).run(out)
    assert not (out / "evaluations" / "look.jsonl").exists()
    Recipe().run(out, resume=True, accepted=[f"stages.look.reward.{key}" for key in ("class", "stream", "left")])
    assert outcome(out) == outcome(undisturbed)


def test_a_run_that_is_killed_between_its_two_files_ends_with_the_same_bytes(tmp_path: Path, undisturbed: Path) -> None:
    """The first pass was on disk and the second was not."""
    out = tmp_path / "run"
    with pytest.raises(Killed):
        Recipe(is_dying_later=True).run(out)
    (out / "evaluations" / "look.jsonl").unlink()
    (out / "evaluations" / "look_first_pass.jsonl").write_text(
        json.dumps({"kind": "header", "version": 2, "stage": "look", "step": 1}) + "\n"
    )
    Recipe().run(out, resume=True)
    assert outcome(out) == outcome(undisturbed)


def test_a_run_that_is_killed_after_it_ends_with_the_same_bytes_and_summaries(
    tmp_path: Path, undisturbed: Path
) -> None:
    out = tmp_path / "run"
    with pytest.raises(Killed):
        Recipe(is_dying_later=True).run(out)
    summaries = Recipe().run(out, resume=True)
    assert outcome(out) == outcome(undisturbed)
    assert list(summaries) == ["look_first_pass", "look"]
    # Once more, when all is done: from disk alone.
    assert Recipe().run(out, resume=True) == summaries


def test_without_crops_and_union_it_is_a_plain_evaluation_to_the_byte(tmp_path: Path) -> None:
    recipe = Recipe(views=Views(crops=False, union=False))
    summaries = recipe.run(tmp_path / "none", recipe.look())
    plain = replace(recipe.look(), first_pass=None, views=None)
    recipe.run(tmp_path / "plain", plain)
    assert list(summaries) == ["look"]
    assert outcome(tmp_path / "none") == outcome(tmp_path / "plain")


def test_both_passes_are_sampled_at_the_temperature_of_the_stage(tmp_path: Path, undisturbed: Path) -> None:
    recipe = Recipe(temperature=0.0)
    recipe.run(tmp_path / "run", recipe.imitation("sft"), recipe.look())
    for name in ("look_first_pass.jsonl", "look.jsonl"):
        said = [
            [one.trajectory.turns[0].text for one in read_records(run / "evaluations" / name)]
            for run in (undisturbed, tmp_path / "run")
        ]
        # An untrained model says something else to each question when it samples, and the likeliest when it does not.
        assert len(set(said[0])) == 6
        assert said[0] != said[1]


def test_a_first_pass_whose_prompts_do_not_fit_stops_before_it_is_played(tmp_path: Path) -> None:
    recipe = Recipe()
    tiny = replace(GROUNDED, rollout=RolloutSettings(max_turn_tokens=12, max_tokens=20))
    with pytest.raises(UserError, match=r"evaluation 'look': about 6 of 6 questions do not fit rollout.max_tokens=20"):
        recipe.run(tmp_path / "run", replace(recipe.look(), first_pass=tiny))


def test_a_learning_curve_may_look_twice(tmp_path: Path) -> None:
    recipe = Recipe()
    curve = RLStage(
        name="rl",
        streams=(Stream(name="textual", episodes=TEXTUAL),),
        questions=lambda: InOrder(lambda index: tiny_example(recipe.media, index).task, streams=("textual",)),
        reward=OutcomeReward(),
        algorithm=chosen_algorithm(AlgorithmSettings(), action_tokens=12),
        settings=RLSettings(
            steps=1, tasks_per_step=1, group_size=2, optimizer=SFT.optimizer, checkpoint_every=1, evaluate_every=1
        ),
        evaluation=recipe.look("curve"),
    )
    recipe.run(tmp_path / "run", curve)
    [(_, values)] = read_metrics(tmp_path / "run" / "metrics.jsonl")
    assert 0 < values["held_out/views/none"] < 1
    assert {"held_out/reward/accuracy", "held_out/first_pass/reward/accuracy"} <= set(values)
    assert not list((tmp_path / "run" / "evaluations").iterdir())
    with pytest.raises(UserError, match="evaluation 'curve' has first_pass but no views"):
        recipe.plan(replace(curve, evaluation=replace(recipe.look("curve"), views=None))).check()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"first_pass": None}, "has views but no first_pass"),
        ({"views": None}, "has first_pass but no views"),
    ],
)
def test_half_of_a_second_look_is_refused(given: dict[str, None], message: str) -> None:
    recipe = Recipe()
    with pytest.raises(UserError, match=message):
        recipe.plan(replace(recipe.look(), **given)).check()  # type: ignore[arg-type]


def test_a_stage_cannot_have_the_name_of_a_first_pass() -> None:
    recipe = Recipe()
    with pytest.raises(UserError, match="two stages are named look_first_pass"):
        recipe.plan(recipe.look(), recipe.look("look_first_pass")).check()


def test_a_temperature_of_the_first_pass_s_own_is_refused() -> None:
    recipe = Recipe()
    warm = replace(GROUNDED, rollout=replace(ROLLOUT, temperature=0.5))
    with pytest.raises(UserError, match=r"rollout\.temperature=0\.5 would have no effect"):
        recipe.plan(replace(recipe.look(), first_pass=warm)).check()


def test_one_picture_is_answered_with_its_boxes_and_views(tmp_path: Path) -> None:
    recipe = Recipe()
    model = recipe.build_model()
    scene = recipe.media.get(tiny_example(recipe.media).task.images[0]).copy()
    scene.save(tmp_path / "scene.png")
    model.media = MediaStore()

    def say(label: str, turn: int) -> str:
        is_first = "first_pass" in label
        return f"<think>{'a <box>[0,0,250,250]</box>' if is_first else 'so'}</think><answer>red</answer>"

    for image in (scene, tmp_path / "scene.png", str(tmp_path / "scene.png")):
        engine = ScriptedEngine(script=say, chat=model.chat)
        look = answer_one(image, "Which colour has the square?", model=model, engine=engine)
        assert look.answer == "red"
        assert look.boxes == (Box(0, 0, 64, 64),)
        [view] = look.views
        assert (view.kind, view.box) == ("crop", Box(0, 0, 64, 64))
        assert view.picture.tobytes() == scene.crop((0, 0, 64, 64)).tobytes()
        assert (len(look.first.images), len(look.second.images)) == (1, 2)
        assert look.first.images[0].hash not in model.media
        assert look.second.images[1].hash not in model.media


def test_one_picture_may_be_asked_about_with_an_engine_of_its_own_and_with_options() -> None:
    recipe = Recipe()
    scene = recipe.media.get(tiny_example(recipe.media).task.images[0])
    settings = RolloutSettings(max_turn_tokens=4, max_tokens=400, temperature=0.0)
    model = recipe.build_model()
    look = answer_one(scene, "Which?", choices=("red", "blue"), model=model, settings=settings)
    shown = model.tokenizer.decode(look.second.segments[0].ids)
    assert "A. red\nB. blue" in shown
    assert look.answer is None
    assert look.second.status in ("token_limit", "turn_limit")


def test_one_picture_that_cannot_be_shown_is_an_error() -> None:
    recipe = Recipe()
    model = recipe.build_model()
    settings = RolloutSettings(max_tokens=10)
    with pytest.raises(MachineError, match="could not be answered: the first pass failed: the prompt takes"):
        answer_one(Image.new("RGB", (64, 64)), "Which?", model=model, settings=settings)
    with pytest.raises(UserError, match=r"no-such\.png"):
        answer_one("no-such.png", "Which?", model=model)


def test_a_greedy_first_pass_that_was_played_is_not_played_again(tmp_path: Path) -> None:
    recipe = Recipe(temperature=0.0)
    crops, union = replace(recipe.look("crops"), views=replace(LOOK, union=False)), recipe.look("union")
    grounded = replace(crops, name="grounded", episodes=GROUNDED, first_pass=None, views=None)
    shared, alone = tmp_path / "shared", tmp_path / "alone"
    assert list(recipe.run(shared, grounded, crops, union)) == ["grounded", "crops", "union"]
    assert list(recipe.run(alone, union)) == ["union_first_pass", "union"]
    assert (shared / "evaluations" / "union.jsonl").read_bytes() == (alone / "evaluations" / "union.jsonl").read_bytes()
    asked = read_asked(shared / "asked.json").evaluations
    assert {name: one.first_pass for name, one in asked.items()} == {
        "grounded": None,
        "crops": "grounded",
        "union": "grounded",
    }


def test_weights_that_moved_or_chance_need_a_first_pass_of_their_own(tmp_path: Path) -> None:
    recipe = Recipe(temperature=0.0)
    moved = recipe.run(tmp_path / "moved", recipe.look("early"), recipe.imitation("sft"), recipe.look("late"))
    assert list(moved) == ["early_first_pass", "early", "late_first_pass", "late"]
    recipe_of_chance = Recipe()
    sampled = recipe_of_chance.run(tmp_path / "sampled", recipe_of_chance.look("look1"), recipe_of_chance.look("look2"))
    assert list(sampled) == ["look1_first_pass", "look1", "look2_first_pass", "look2"]
