"""What a checkpoint says of how it is asked and what it was trained on, and what a record from anywhere may do."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from PIL import Image

from saccade.config.context import RecipeContext
from saccade.errors import UserError
from saccade.learner.optimizer import OptimizerSettings
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.loading import write_merged
from saccade.models.lora import LoraSettings
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.code import code_protocol
from saccade.protocols.linguistic_tools import LinguisticTool, LinguisticToolbox
from saccade.protocols.named import PROTOCOLS, name_of, protocol_named
from saccade.protocols.tagged import tagged_protocol
from saccade.recipes.evaluation import evaluation
from saccade.rewards.reward import OutcomeReward
from saccade.rollout.episodes import RolloutSettings
from saccade.runs.asking import read_asked, read_asking
from saccade.runs.progress import Progress
from saccade.runs.recorded_tools import Toolmaker
from saccade.runs.trained_on import Novelty, read_trained_on
from saccade.sandbox.sandbox import Sandbox
from saccade.testing import TINY_VIEW
from saccade.testing.tasks import tiny_example
from saccade.tools.catalogue.catalogue import build_tool
from saccade.tools.catalogue.settings import ToolSettings
from saccade.tools.code import PythonTool, python_tool
from saccade.tools.images import crop, zoom
from saccade.tools.making import UnknownOriginError, origin_of
from saccade.tools.remembered import RememberedSessions
from saccade.tools.tool import tool_from
from saccade.train.plan import Demonstration, EpisodeSpec, Evaluate, Plan, SFTStage
from saccade.train.plan_record import way_of
from saccade.train.run import run_plan
from saccade.train.stage_settings import SFTSettings
from saccade.types import Example, Json, Task

SIZE = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48)
LIMITS = RolloutSettings(max_turn_tokens=6, max_tokens=400)
PYTHON = python_tool(RememberedSessions(Sandbox(isolation="restricted")), timeout_s=3.0, max_images=2)
CODE = EpisodeSpec(protocol=code_protocol(style="brief", max_turns=3), tools=(PYTHON,), rollout=LIMITS, max_turns=3)
LOOK = EpisodeSpec(protocol=tagged_protocol(style="brief"), tools=(tool_from(crop, 4.0),), rollout=LIMITS, max_turns=2)


@dataclass(frozen=True, kw_only=True)
class Nothing:
    """A recipe without settings."""


def run(out: Path, *episodes: EpisodeSpec, lora: LoraSettings | None = None) -> Path:
    """One step of imitation of question 0, then an evaluation on questions 0 and 1 in each way; its checkpoint."""
    media = MediaStore()

    def build_model() -> VisionLanguageModel:
        return tiny_model(["Which colour has the square? I look."] * 9, media, size=SIZE, vocab_size=320, seed=4)

    def demonstration(index: int, _: float) -> Demonstration:
        example = tiny_example(media, index)
        return Demonstration(example=Example(task=example.task, turns=example.turns[1:]), episodes=episodes[0])

    settings = SFTSettings(steps=1, batch_size=1, optimizer=OptimizerSettings(learning_rate=1e-3, lora=lora))
    sft = SFTStage(name="sft", source=demonstration, settings=settings)
    after = [
        Evaluate(name=f"after_{number}", tasks=lambda: tasks(media), episodes=how, reward=OutcomeReward())
        for number, how in enumerate(episodes)
    ]
    plan = Plan(title="Asked", settings=Nothing(), build_model=build_model, stages=(sft, *after))
    run_plan(plan, out=out, media=media, seed=7, progress=Progress("quiet"))
    return out / "checkpoints" / "sft-000001"


def tasks(media: MediaStore) -> list[Task]:
    return [tiny_example(media, 0).task, tiny_example(media, 1).task]


def planned(checkpoint: Path, *settings: str, **wishes: object) -> Plan:
    context = RecipeContext(model=checkpoint, overrides=settings)
    plan = evaluation(context, family="counting", count=1, **wishes)  # type: ignore[arg-type]
    plan.check()
    return plan


def asked(plan: Plan) -> list[tuple[str, str, list[str], int, int]]:
    """Of each evaluation: name, protocol, tools, turns, tokens of a turn."""
    stages = [stage for stage in plan.stages if isinstance(stage, Evaluate)]
    return [
        (
            stage.name,
            stage.episodes.protocol.name,
            [tool.spec.name for tool in stage.episodes.tools],
            stage.episodes.max_turns,
            stage.episodes.rollout.max_turn_tokens,
        )
        for stage in stages
    ]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("asked") / "run", CODE, LOOK)


def test_a_checkpoint_is_evaluated_as_its_recipe_evaluates_it(trained: Path) -> None:
    plan = planned(trained)
    assert asked(plan) == [
        ("code", "code", ["execute_python_code"], 3, 6),
        ("tagged", "tagged", ["crop"], 2, 6),
    ]
    assert plan.remarks == (
        f"{trained} is asked as its record says (code with execute_python_code, 3 turns; tagged with crop, 2 turns).",
    )
    first, second = [stage.episodes for stage in plan.stages if isinstance(stage, Evaluate)]
    python = first.tools[0]
    assert isinstance(python, PythonTool)
    assert (python.timeout_s, python.max_images) == (3.0, 2)
    assert origin_of(second.tools[0]) == origin_of(tool_from(crop, 4.0))
    [sandbox] = plan.resources
    assert isinstance(sandbox, Sandbox)
    assert sandbox.isolation == "full", "a record weakens no walls"
    [sandbox] = planned(trained, "isolation=restricted").resources
    assert isinstance(sandbox, Sandbox)
    assert sandbox.isolation == "restricted"
    assert second.protocol.max_turns is None, "the instructions of training spoke of no limit"


def test_protocol_tools_and_turns_are_what_the_command_says(trained: Path) -> None:
    assert asked(planned(trained, protocols=("tagged",))) == [("tagged", "tagged", ["crop"], 2, 6)]
    assert asked(planned(trained, protocols=("direct",))) == [("direct", "direct", [], 1, 512)]
    other = planned(trained, "rollout.max_turn_tokens=9", tools=("zoom", "execute_python_code"), turns=5)
    assert asked(other) == [
        ("code", "code", ["zoom", "execute_python_code"], 5, 9),
        ("tagged", "tagged", ["zoom", "execute_python_code"], 5, 9),
    ]
    assert "as the command says" in other.remarks[0]
    assert "its record says: code with execute_python_code, 3 turns" in other.remarks[0]
    assert asked(planned(trained, protocols=("code",), tools=("crop",)))[0][2] == ["execute_python_code", "crop"]
    with pytest.raises(UserError, match="--tools crop would have no effect: direct offers no tools"):
        planned(trained, protocols=("direct",), tools=("crop",))
    with pytest.raises(UserError, match=r"there is no tool 'corp'.*did you mean crop"):
        planned(trained, tools=("corp",))


def test_instructions_are_those_of_training_word_by_word(trained: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    record = json.loads((trained / "saccade_asking.json").read_text())
    record["evaluated"][1]["system"] = "tools of old: crop"
    record["evaluated"][1]["tools"][0]["description"] = "Cut out, as was said then."
    (copy / "saccade_asking.json").write_text(json.dumps(record))
    plan = planned(copy)
    assert "tools of tagged have changed" in plan.remarks[1]

    def system(plan: Plan) -> object:
        episodes = next(
            stage.episodes for stage in plan.stages if isinstance(stage, Evaluate) and stage.name == "tagged"
        )
        media = MediaStore()
        view = tiny_model(["a"], media, size=SIZE, vocab_size=320, seed=4).view
        return episodes.protocol.prompt(tasks(media)[0], [tool.spec for tool in episodes.tools], view)[0].parts

    assert system(plan) == ("tools of old: crop",)
    assert system(planned(copy, tools=("zoom",))) == ("tools: zoom",)


def test_an_evaluation_in_recorded_words_is_known_by_protocol_and_words(trained: Path) -> None:
    """So it can be compared with one of a checkpoint without a record that is asked in the same words."""
    record = read_asking(trained)
    assert record is not None
    assert all(way.system for way in record.evaluated)
    ways = [way_of(stage.episodes, TINY_VIEW) for stage in planned(trained).stages if isinstance(stage, Evaluate)]
    assert [(way.protocol, way.is_known, way.system) for way in ways] == [
        (way.protocol, True, way.system) for way in record.evaluated
    ]


def test_what_is_a_recipe_s_own_is_never_guessed(tmp_path: Path) -> None:
    def look_twice(image: Image.Image) -> str:
        """Look twice."""
        return "twice"

    own = replace(LOOK, tools=(tool_from(look_twice),))
    read = replace(LOOK, protocol=replace(LOOK.protocol, parse=lambda text: LOOK.protocol.parse(text.upper())))
    checkpoint = run(tmp_path / "run", own, read)
    with pytest.raises(
        UserError, match=r"the tool look_twice is its recipe's own.*protocol 'tagged' is its recipe's own"
    ):
        planned(checkpoint)
    assert asked(planned(checkpoint, tools=("zoom",))) == [("tagged", "tagged", ["zoom"], 2, 6)]
    assert asked(planned(checkpoint, protocols=("direct",)))[0][:2] == ("direct", "direct")


def test_what_a_user_s_own_run_was_given_needs_no_yes_and_a_copy_of_it_elsewhere_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    options: Mapping[str, Json] = {"url": "http://127.0.0.1:1/v1", "model": "x"}
    typed = build_tool(ToolSettings(name="g_llava", backend="openai", options=options))
    checkpoint = run(tmp_path / "run", replace(LOOK, tools=(typed, tool_from(crop))))
    assert asked(planned(checkpoint)) == [("tagged", "tagged", ["g_llava", "crop"], 2, 6)]
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "of another user"))
    plan = planned(checkpoint)
    assert asked(plan) == [("tagged_fewer_tools", "tagged", ["crop"], 2, 6)]
    assert "To play with them, add: --allow http://127.0.0.1:1/v1\n" in plan.remarks[1]
    allowed = planned(checkpoint, allowed=("http://127.0.0.1:1/v1",))
    assert asked(allowed) == [("tagged", "tagged", ["g_llava", "crop"], 2, 6)]
    assert asked(planned(checkpoint, protocols=("tagged",))) == [("tagged_fewer_tools", "tagged", ["crop"], 2, 6)]
    assert asked(planned(checkpoint, tools=("zoom",))) == [("tagged", "tagged", ["zoom"], 2, 6)]


@pytest.mark.parametrize("place", ["os:system", "saccade.tools.images:Image", "saccade.tools.images:no", "crop", ""])
def test_a_record_names_no_function_but_those_of_the_tools(trained: Path, place: str) -> None:
    asking = read_asking(trained)
    assert asking is not None
    [tool] = asking.evaluated[1].tools
    with pytest.raises(UnknownOriginError):
        Toolmaker().made([replace(tool, origin={"function": place, "deadline_s": 1.0})])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("{", "cannot be read"),
        ('{"version": 2}', "is of version 2, and this Saccade reads version 1"),
        (
            '{"version": 1, "evaluated": [{"max_turns": 0}], "trained": {}}',
            r"'evaluated\[0\].max_turns' must be a whole number of 1 or more, not 0",
        ),
        ('{"version": 1, "evaluated": 3, "trained": {}}', "'evaluated' must be a list"),
    ],
)
def test_a_broken_record_is_said_with_what_to_do(tmp_path: Path, change: str, why: str) -> None:
    (tmp_path / "saccade_asking.json").write_text(change)
    with pytest.raises(UserError, match=why):
        read_asking(tmp_path)


def test_an_adapter_and_what_it_is_merged_into_have_the_records(tmp_path: Path) -> None:
    adapter = run(tmp_path / "run", LOOK, lora=LoraSettings(rank=2))
    write_merged(adapter, tmp_path / "merged")
    for name in ("saccade_asking.json", "saccade_trained_on.json"):
        assert (tmp_path / "merged" / name).read_bytes() == (adapter / name).read_bytes()
    assert asked(planned(tmp_path / "merged")) == [("tagged", "tagged", ["crop"], 2, 6)]


def test_questions_and_pictures_that_were_trained_on_are_known_by_their_content(trained: Path) -> None:
    known, new = tasks(MediaStore())
    record = read_trained_on(trained)
    other_words = replace(known, id="x", question="How large is it?")
    other_id = replace(known, id="another file/1", family="elsewhere")
    assert record.novelty([known, new]) == Novelty(
        questions=2, trained_on=1, on_trained_pictures=0, is_history_known=True
    )
    assert record.novelty([other_id]).trained_on == 1
    assert record.novelty([other_words]).on_trained_pictures == 1
    assert record.novelty([new]).is_held_out
    assert not read_trained_on(trained.parent).novelty([new]).is_history_known
    said = read_asked(trained.parents[1] / "asked.json").evaluations["after_0"]
    assert (said.novelty, said.way.protocol) == (record.novelty([known, new]), "code")


def test_every_protocol_has_its_name_and_one_s_own_has_none() -> None:
    box = LinguisticToolbox((LinguisticTool("read_cell", "Read."),))
    made = [protocol_named(name, style="full", max_turns=2, toolbox=box) for name in PROTOCOLS]
    assert [name_of(protocol) for protocol in made] == list(PROTOCOLS)
    assert name_of(replace(tagged_protocol(), parse=lambda text: tagged_protocol().parse(text))) is None


def test_functions_of_saccade_are_made_again_and_changed_ones_are_not() -> None:
    assert origin_of(tool_from(zoom)) == {"function": "saccade.tools.images:zoom", "deadline_s": 10.0}
    told = tool_from(zoom)
    assert origin_of(replace(told, spec=replace(told.spec, description="Look."))) == {}
