"""TRL's own trainer resets our environments, calls their tools and learns from their rewards."""

import inspect
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from PIL import Image
from transformers.utils.chat_template_utils import get_json_schema
from trl_small import small_trainer

from saccade.bench.workload import MAX_PIXELS, MIN_PIXELS
from saccade.errors import ToolError, UserError
from saccade.interop.trl.environment import TrlEnvironment, answer_score, environment_class, rows
from saccade.interop.trl.tool_methods import type_of
from saccade.media.resize import ResizeRule
from saccade.media.store import MediaStore
from saccade.testing import tiny_example
from saccade.tools.images import IMAGE_TOOLS
from saccade.tools.tool import Episode, OpenTool, Tool, tool_from
from saccade.types import Task, ToolCall, ToolSpec
from saccade.viewer.store.collection import Collection

# TRL and what it stands on call one another by names that are to go, and say that environments are experimental.
pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

VIEW = ResizeRule(factor=28, min_pixels=MIN_PIXELS, max_pixels=MAX_PIXELS, convention="absolute")
"""How the tiny model's processor sees: 256 x 256 as 252 x 252."""


def tasks_of(media: MediaStore, count: int) -> list[Task]:
    """Their answers are red, green, blue, yellow."""
    return [tiny_example(media, index).task for index in range(count)]


def call(name: str, **arguments: object) -> str:
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


def fragile(image: Image.Image, strength: int = 1) -> str:
    """Look hard."""
    if strength > 1:
        raise ConnectionError("the lens broke")
    return "nothing"


class Seen:
    """The reward function that notes what TRL hands it."""

    def __init__(self) -> None:
        self.completions: Sequence[Sequence[dict[str, object]]] = ()
        self.environments: tuple[TrlEnvironment, ...] = ()
        self.scores: list[float | None] = []
        self.__name__ = "answer"

    def __call__(self, completions, environments, **columns):  # type: ignore[no-untyped-def]
        self.completions, self.environments = completions, tuple(environments)
        self.scores = answer_score(completions, environments, **columns)
        return self.scores


def test_trainer_plays_two_turns_with_pictures_in_tool_results_and_learns(tmp_path: Path) -> None:
    media = MediaStore()
    tasks = tasks_of(media, 2)
    seen = Seen()

    def say(row: int, turn: int) -> str:
        if turn == 0:
            return call("crop", bbox_2d=[0, 0, 126, 63]) if row != 1 else call("crop", bbox=[0, 0, 126, 63])
        return f"<answer>{('red', 'blue', 'green', 'green')[row]}</answer>"

    trainer = small_trainer(
        tmp_path,
        environment=environment_class(tasks, media=media, view=VIEW),
        rows=rows(tasks, view=VIEW),
        reward=seen,
        say=say,
    )
    trainer.train()

    assert [environment.task.id for environment in seen.environments] == [tasks[row // 2].id for row in range(4)]
    # In the model's frame half the width and a quarter of the height: 128 x 64 of the original.
    assert [(image.width, image.height) for image in seen.environments[0].images] == [(256, 256), (128, 64)]
    shown = seen.completions[0][1]["content"]
    assert [part["type"] for part in shown] == ["image", "text"]  # type: ignore[attr-defined]
    assert "did you mean bbox_2d?" in str(seen.completions[1][1]["content"])
    assert seen.scores == [1.0, 0.0, 1.0, 1.0]
    logged = trainer.state.log_history[0]
    assert logged["rewards/answer/mean"] == 0.75
    assert logged["tools/failure_frequency"] == 0.25
    assert logged["grad_norm"] > 0


def test_each_row_has_the_tools_of_its_own_environment(tmp_path: Path) -> None:
    media = MediaStore()
    first, second = tasks_of(media, 2)
    seen = Seen()

    def say(row: int, turn: int) -> str:
        if turn == 0:
            return call("crop" if row != 3 else "look", bbox_2d=[0, 0, 126, 63])
        return f"<answer>{('red', 'blue', 'green', 'green')[row]}</answer>"

    def look() -> str:
        """Look."""
        return "seen"

    by_name = {
        "crops": environment_class([first], media=media, tools=IMAGE_TOOLS, view=VIEW, name="Crops"),
        "looks": environment_class([second], media=media, tools=[tool_from(look)], view=VIEW, name="Looks"),
    }
    trainer = small_trainer(
        tmp_path,
        environment=by_name,
        rows=[*rows([first], view=VIEW, environment="crops"), *rows([second], view=VIEW, environment="looks")],
        reward=seen,
        say=say,
    )
    trainer.train()

    assert [type(one).__name__ for one in seen.environments] == ["Crops", "Crops", "Looks", "Looks"]
    assert [len(one.images) for one in seen.environments] == [2, 2, 1, 1]
    assert seen.scores == [1.0, 0.0, 1.0, 1.0]
    assert trainer.state.log_history[0]["tools/failure_frequency"] == 0.5  # no crop, and a look with an argument


def test_rollout_whose_tool_broke_has_no_score_and_no_weight(tmp_path: Path) -> None:
    media = MediaStore()
    tasks = tasks_of(media, 1)
    seen = Seen()

    def say(row: int, turn: int) -> str:
        return call("fragile", strength=1 + row) if turn == 0 else "<answer>red</answer>"

    trainer = small_trainer(
        tmp_path,
        environment=environment_class(tasks, media=media, tools=[tool_from(fragile)], view=VIEW),
        rows=rows(tasks, view=VIEW),
        reward=seen,
        say=say,
    )
    trainer.train()

    assert seen.scores == [1.0, None]
    assert "the lens broke" in seen.environments[1].failure
    assert "the lens broke" not in str(seen.completions[1])
    # TRL's mean is over the scored one alone; scored 0.0, the broken one would have made a gradient.
    assert trainer.state.log_history[0]["reward"] == 1.0
    assert trainer.state.log_history[0]["grad_norm"] == 0.0


def test_model_that_does_not_see_gets_the_texts(tmp_path: Path) -> None:
    media = MediaStore()
    tasks = tasks_of(media, 1)
    seen = Seen()

    def say(row: int, turn: int) -> str:
        return call("measure", start=[0, 0], end=[30, 40]) if turn == 0 else f"<answer>{('red', 'blue')[row]}</answer>"

    trainer = small_trainer(
        tmp_path,
        environment=environment_class(tasks, media=media, view=VIEW, shows_images=False),
        rows=rows(tasks, view=VIEW),
        reward=seen,
        say=say,
        sees=False,
    )
    # TRL 1.16 cannot write those of the runs with pictures: its table mixes texts and lists of parts.
    trainer.log_completions = True
    (tmp_path / "out" / "completions").mkdir(parents=True)
    trainer.train()

    assert seen.completions[0][1]["content"] == "50.8 px, -53.1 degrees"
    assert seen.scores == [1.0, 0.0]
    check_viewer_reads(tmp_path / "out", tmp_path / "cache")


def check_viewer_reads(out: Path, cache: Path) -> None:
    """``completions/*.parquet`` as TRL has just written it."""
    collection = Collection(paths=(out,), cache=cache)
    collection.load()
    [run] = collection.runs.values()
    view = run.table.view()
    assert run.source.kind == "trl"
    assert view.columns["reward"].tolist() == [1.0, 0.0]
    assert view.columns["step"].tolist() == [1, 1]
    assert view.columns["advantage"][0] > 0 > view.columns["advantage"][1]
    opened = run.open(run.id_of(0, 0))
    call_turn, answer = opened.attempt.trajectory.turns
    assert call_turn.action == ToolCall(name="measure", arguments={"start": [0, 0], "end": [30, 40]})
    assert call_turn.observation is not None
    assert call_turn.observation.text == "50.8 px, -53.1 degrees"
    assert answer.text == "<answer>red</answer>"
    assert "removes pictures before it writes" in opened.notes[0]


def test_every_public_function_of_the_class_is_a_tool_or_reset() -> None:
    media = MediaStore()
    environment = environment_class(tasks_of(media, 1), media=media)
    functions = [name for name, _ in inspect.getmembers(environment, inspect.isfunction) if not name.startswith("_")]
    assert sorted(functions) == sorted(["reset", *(tool.name for tool in IMAGE_TOOLS)])


def test_transformers_reads_the_tools_schema_from_the_method() -> None:
    media = MediaStore()
    environment = environment_class(tasks_of(media, 1), media=media)()
    assert get_json_schema(environment.flip)["function"] == {  # type: ignore[attr-defined]
        "name": "flip",
        "description": "Mirror an image, for instance to read mirrored writing.",
        "parameters": {
            "type": "object",
            "properties": {
                "image": {
                    "type": "integer",
                    "description": "number of the image, counted from 1 in order of appearance",
                },
                "direction": {
                    "type": "string",
                    "enum": ["horizontal", "vertical"],
                    "description": "horizontal swaps left and right",
                },
            },
            "required": ["direction"],
        },
        "return": {"type": "array", "description": "What the tool found, in words and pictures."},
    }


def test_type_hints_are_the_nearest_to_a_schema() -> None:
    assert type_of({"type": "array", "items": {"type": "array", "items": {"type": "number"}}}) == list[list[float]]
    assert type_of({"anyOf": [{"type": "string"}, {"type": "null"}]}) == str | None
    assert type_of({"type": "object"}) is dict
    assert type_of({}) is str


def test_reset_forgets_the_rollout_before() -> None:
    media = MediaStore()
    tasks = tasks_of(media, 2)
    environment = environment_class(tasks, media=media, view=VIEW)()
    for task in tasks:
        blocks = environment.reset(task=task.id, prompt=[], other=1)
        assert [block["type"] for block in blocks] == ["text", "image", "text"]  # type: ignore[index]
        environment.crop(bbox_2d=[0, 0, 100, 100])  # type: ignore[attr-defined]
        with pytest.raises(ToolError, match="wholly outside"):
            environment.crop(bbox_2d=[900, 900, 990, 990])  # type: ignore[attr-defined]
        assert len(environment.images) == 2
        assert [result.is_ok for result in environment.results] == [True, False]
    assert len(media._backings) == 2  # nothing that tools drew went into the tasks' store


@dataclass(frozen=True)
class Counter:
    """A tool that counts its calls in an episode."""

    closed: list[str] = field(default_factory=list)

    @property
    def spec(self) -> ToolSpec:
        return self._tool([]).spec

    def open(self, episode: Episode) -> OpenTool:
        return OpenTool(tool=self._tool([]), close=lambda: self.closed.append(episode.images[0].hash))

    def _tool(self, calls: list[str]) -> Tool:
        def count() -> str:
            """Count."""
            calls.append("")
            return str(len(calls))

        return tool_from(count)


def test_tool_with_a_state_lasts_for_a_rollout_and_is_closed_when_it_is_scored() -> None:
    media = MediaStore()
    tasks = tasks_of(media, 2)
    counter = Counter()
    environment = environment_class(tasks, media=media, tools=[counter])()
    for index, task in enumerate(tasks):
        environment.reset(task=task.id)
        assert [environment.count() for _ in range(2)] == ["1", "2"]  # type: ignore[attr-defined]
        assert len(counter.closed) == index
        answer_score([[]], [environment])
        assert counter.closed[-1] == task.images[0].hash


def test_answer_is_read_from_the_last_message_alone() -> None:
    media = MediaStore()
    environment = environment_class(tasks_of(media, 1), media=media)()
    environment.reset(task="tiny/000000")
    said = {"role": "assistant", "content": "<answer>red</answer>"}
    for completion, score in (
        ([said], 1.0),
        ([{"role": "assistant", "content": "<think>so</think> <answer> Red </answer>"}], 1.0),
        ([{"role": "assistant", "content": "red"}], 0.0),
        ([{"role": "assistant", "content": "<answer>red</answer><answer>blue</answer>"}], 0.0),
        ([said, {"role": "tool", "name": "crop", "content": "<answer>red</answer>"}], 0.0),
        ([], 0.0),
    ):
        assert answer_score([completion], [environment]) == [score]


def test_what_cannot_be_an_environment_is_refused_before_training() -> None:
    media = MediaStore()
    tasks = tasks_of(media, 1)

    def task(image: Image.Image) -> str:
        """Hide a property."""
        return ""

    with pytest.raises(UserError, match="at least one task"):
        environment_class([], media=media)
    with pytest.raises(UserError, match="same id"):
        environment_class(tasks * 2, media=media)
    with pytest.raises(UserError, match="needs the name task for itself"):
        environment_class(tasks, media=media, tools=[tool_from(task)])
    environment = environment_class(tasks, media=media)()
    with pytest.raises(UserError, match="make rows by rows"):
        environment.reset(prompt=[])
    with pytest.raises(UserError, match="no task yet"):
        _ = environment.task
