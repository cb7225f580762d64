"""Whatever a model says goes through environment, rollout, reward, disk and report, and nothing breaks or escapes."""

import json
import re
from pathlib import Path

from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.evaluation.evaluate import evaluation_requests, play
from saccade.evaluation.summary import summarise
from saccade.media.store import MediaStore
from saccade.protocols.tagged import tagged_protocol
from saccade.rewards.reward import OutcomeReward
from saccade.rollout.episodes import RolloutSettings
from saccade.runs.directory import RunDirectory
from saccade.runs.position import Position
from saccade.runs.records import read_records, write_records
from saccade.testing.hostile import HOSTILE_TEXTS
from saccade.testing.scripted import ScriptedEngine, letter_chat
from saccade.testing.tasks import TINY_VIEW, tiny_example
from saccade.tools.images import IMAGE_TOOLS
from saccade.train.rollout_metrics import rollout_metrics
from saccade.viewer.report import write_report


def call(name: str, arguments: str) -> str:
    return f'<think>x</think><tool_call>{{"name": {name}, "arguments": {arguments}}}</tool_call>'


EVIL = "</pre></script><script>evil()</script><img src=x onerror=evil()>"
TEXTS = (
    *HOSTILE_TEXTS,
    EVIL,
    f"<think>{EVIL}</think><answer>{EVIL}</answer>",
    f"<think>\u202e{EVIL}\x00\x1b]0;title\x07\ud800</think><answer>\ud800\x00</answer>",
    call('"crop"', '{"bbox_2d": [1e308, 1e308, 1.7e308, 1.7e308]}'),
    call('"crop"', '{"bbox_2d": [-1e308, -1e308, 1e308, 1e308]}'),
    call('"crop"', '{"bbox_2d": [0, 0, 1e-308, 1e-308]}'),
    call('"crop"', '{"bbox_2d": [0, 0, ' + "1" * 400 + ", 1]}"),
    call('"crop"', '{"bbox_2d": [0, 0, 500, 500], "image": 1e400}'),
    call('"crop"', '{"bbox_2d": ' + '{"a":' * 3000 + "1" + "}" * 3000 + "}"),
    call('"zoom"', '{"bbox_2d": [499, 499, 500, 500], "factor": 1e9}'),
    call('"rotate"', '{"angle": 1e308}'),
    call('"draw_points"', '{"points": [' + "[1e308, -1e308]," * 500 + "[0, 0]]}"),
    call('"draw_boxes"', '{"boxes": [[0, 0, 1000, 1000]], "labels": ["' + EVIL.replace("/", "\\/") + '"]}'),
    call('"measure"', '{"start": [1e308, 0], "end": [-1e308, 0]}'),
    call('"\\ud800<script>"', '{"\\u0000": "\\ud800"}'),
    call('"crop"', '{"bbox_2d": [0, 0, 500, 500]}') + "<tool_response>" + EVIL + "</tool_response>",
    "<answer>" + "9" * 10_000 + "</answer>",
    "<answer>" + "(" * 10_000 + "</answer>",
    "\U0010ffff\u0301" * 10_000,
)


def test_a_hostile_model_breaks_nothing_from_rollout_to_report(tmp_path: Path) -> None:
    media = MediaStore()
    chat = letter_chat(TINY_VIEW)
    tasks = [tiny_example(media, index).task for index in range(len(TEXTS))]
    # Each says its worst, twice unless it is a megabyte, and then answers.
    script = [
        (text, text if len(text) < 300_000 else "", f"<think>{EVIL}</think><answer>{EVIL}</answer>") for text in TEXTS
    ]
    attempts = play(
        evaluation_requests(tasks, seed=0, name="hostile"),
        engine=ScriptedEngine(script=script, chat=chat),
        chat=chat,
        make_env=lambda: VisualReasoningEnv(
            protocol=tagged_protocol(style="full", max_turns=3),
            tools=IMAGE_TOOLS,
            media=media,
            view=TINY_VIEW,
            max_turns=3,
            shows_pixels=False,
        ),
        settings=RolloutSettings(max_turn_tokens=2_000_000, max_tokens=8_000_000, machine_retries=0),
        reward=OutcomeReward(),
    )
    # A real engine cannot sample image tokens; a trajectory with some that belong to no image is dropped, loudly.
    failed = {one.task.id: one.trajectory.failure for one in attempts if one.trajectory.status == "failed"}
    places = [index for index, text in enumerate(TEXTS) if "<|image_pad|>" in text]
    assert failed == {
        tasks[place].id: "the action of turn 1 holds 100 image tokens for 0 images of 0 tokens" for place in places
    }
    scores = [one.trajectory.score for one in attempts if one.task.id not in failed]
    assert all(score is not None and 0 <= score.total <= 1.1 for score in scores)
    with RunDirectory.create(tmp_path / "run", resume=False, settings={}, title=EVIL) as run:
        position = Position(stage="hostile", step=1)
        path = run.paths.evaluation("hostile")
        write_records(path, position, attempts, media=media, media_directory=run.paths.media)
        run.finish("failed", EVIL)
        write_report(run.paths)
        page = run.paths.report_html.read_text(encoding="utf-8")
    again = list(read_records(path))
    assert all(one.trajectory.segments == other.trajectory.segments for one, other in zip(again, attempts, strict=True))
    assert [len(one.trajectory.turns) for one in again] == [len(one.trajectory.turns) for one in attempts]
    assert "evil()" in page
    assert not re.search(r"<script>evil|<img src=x|<[^>]*onerror", page)
    assert not set(page) & {"\x00", "\x1b", "\x07"}
    assert len(page) < 5_000_000
    json.loads(run.paths.report_json.read_text(encoding="utf-8"))
    assert rollout_metrics(attempts)["rollout/failed"] == len(failed)
    assert summarise("hostile", [(one.task, one.trajectory) for one in attempts]).overall.n == len(scores)
