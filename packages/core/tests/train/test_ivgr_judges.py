"""Runs of two streams whose judge is slow, down, or talks nonsense: they go on, and nothing is scored by accident."""

import json
import random
import socket
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from ivgr_runs import archive, metric, of_stream, reinforcement, run, steps

from saccade.config.context import RecipeContext
from saccade.errors import UserError
from saccade.miniature.ivgr import tiny
from saccade.models.checkpoint import base_checkpoint
from saccade.rewards.judges.addressing import MARK
from saccade.rewards.judges.consistency import RUBRIC
from saccade.runs.runinfo import RunPaths
from saccade.tasks.curriculum import Question, TaskSampler
from saccade.testing.chat_server import ChatServer, Received, Served, chat_reply
from saccade.types import Attempt, Group, Json
from saccade.viewer.report import write_report

STEPS = 2
SLOW = ("judge.server.timeout_s=10", "judge.server.retries=0", "rl.steps=1")
"""Long enough for the other half of the texts on a very busy machine; a step then takes as long."""

NO_WAIT = {"Retry-After": "0"}

MISBEHAVIOURS = {
    "slow": Served(body="", after_s=60.0),
    "down": Served(body="the model is not loaded", status=503, headers=NO_WAIT),
    "nonsense": chat_reply("I would rather talk about the weather."),
    "outside the rubric": chat_reply("0.5"),
}


def said_of(account: str) -> float | None:
    """What the server says of a text: for half of all texts a value of the rubric, for the other half nothing."""
    chance = random.Random(account)
    return chance.choice(RUBRIC) if chance.random() < 0.5 else None


def account_in(received: Received) -> str:
    """The text that is to be judged: the last quoted line of the request."""
    [message] = received.body["messages"]
    lines = [line for line in message["content"].splitlines() if line.startswith(MARK)]
    return lines[-1].removeprefix(MARK)


def serving(bad: Served):
    def serve(received: Received) -> Served:
        value = said_of(account_in(received))
        return bad if value is None else chat_reply(str(value), prompt_tokens=9, completion_tokens=1)

    return serve


def judged_by(url: str, *settings: str) -> tuple[str, ...]:
    server = ("judge.server.retries=1", "judge.server.requests_at_once=64")
    return (f"rl.steps={STEPS}", "judge.kind=server", f"judge.base_url={url}", "judge.model=small", *server, *settings)


def by_question(attempts: list[Attempt]) -> list[list[Attempt]]:
    ids = dict.fromkeys(one.task.id for one in attempts)
    return [[one for one in attempts if one.task.id == key] for key in ids]


def check_scores(group: list[Attempt], said) -> Counter[str]:
    """Every number of a question's textual trajectories, worked out again from their texts alone."""
    counts: Counter[str] = Counter()
    has_reference = bool(group[0].trajectory.score.notes.get("reference"))
    values = [said(one.trajectory.turns[0].thought) if has_reference else None for one in group]
    for one, value in zip(group, values):
        score = one.trajectory.score
        assert score is not None
        plain = score.values["format"] + score.values["accuracy"]
        assert score.values["accuracy"] == float(one.trajectory.answer == one.task.answer)
        if not has_reference:
            assert set(score.values) == {"format", "accuracy"}
            assert score.total == plain
            continue
        counts["asked"] += 1
        counts["without"] += value is None
        is_blamed = bool(score.notes["unjudgeable"])
        assert score.notes["no_verdict"] == float(value is None and not is_blamed)
        counts["unjudgeable"] += is_blamed
        # A judge that answers others and never this text is failed by the text; one that answers nobody fails itself.
        assert score.values.get("consistency") == (0.0 if is_blamed else value)
        assert score.total == pytest.approx(plain + (value or 0.0))
    return counts


@pytest.mark.parametrize("misbehaviour", MISBEHAVIOURS)
def test_texts_that_a_working_judge_always_fails_on_gain_nothing_and_are_counted(
    misbehaviour: str, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    with ChatServer(serving(MISBEHAVIOURS[misbehaviour])) as server:
        run(out, *judged_by(server.url, *(SLOW if misbehaviour == "slow" else ())))
        received = len(server.received)
    counts: Counter[str] = Counter()
    for step in steps(out):
        assert all(one.trajectory.status != "failed" for one in step)
        for group in by_question(of_stream(step, "textual")):
            counts += check_scores(group, said_of)
    assert 0 < counts["unjudgeable"] == counts["without"] < counts["asked"]
    made = 1 if misbehaviour == "slow" else STEPS
    assert metric(out, "updates") == [1.0] * made
    assert metric(out, "rollout/failed") == [0.0] * made

    # The counts are in the metrics and in the report.
    sent = sum(metric(out, "time/judge_requests"))
    # One that was given up may have been so before the server saw it.
    assert received <= sent if misbehaviour == "slow" else received == sent
    assert (sum(metric(out, "time/judge_retries")) > 0) == (misbehaviour == "down")
    write_report(RunPaths(root=out))
    [stage] = json.loads((out / "report.json").read_text())["two_streams"]
    reported = {name: sum(step[name] for step in stage["steps"]) for name in ("asked", "no_verdict")}
    assert reported == {"asked": counts["asked"], "no_verdict": 0}
    sentence = f"asked about {counts['asked']:,} textual trajectories and gave no verdict on 0"
    assert sentence in (out / "report.html").read_text()


def test_a_judge_that_is_never_there_leaves_the_consistency_out(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
    out = tmp_path / "run"
    run(out, *judged_by(url, "judge.server.retries=0"))
    for step in steps(out):
        for group in by_question(of_stream(step, "textual")):
            check_scores(group, lambda _: None)
    assert metric(out, "updates") == [1.0] * STEPS
    assert archive(out, STEPS)
    assert all(value == 1.0 for value in metric(out, "textual/noted/no_verdict"))
    assert metric(out, "textual/reward/consistency") == []


class InFreeWords:
    """Questions whose answers no rule can tell."""

    def __init__(self, inner: TaskSampler) -> None:
        self._inner = inner

    def sample(self, count: int) -> list[Question]:
        drawn = self._inner.sample(count)
        return [
            replace(one, task=replace(one.task, answer=f"as far as I see {one.task.answer}", answer_kind="text"))
            for one in drawn
        ]

    def update(self, groups: Sequence[Group]) -> None:
        self._inner.update(groups)

    def state_dict(self) -> Mapping[str, Json]:
        return self._inner.state_dict()

    def load_state_dict(self, state: Mapping[str, Json]) -> None:
        self._inner.load_state_dict(state)


def test_answers_that_a_working_judge_always_fails_on_are_not_right(tmp_path: Path) -> None:
    def said_of_answer(answer: str) -> str:
        return random.Random(answer).choice(["YES", "NO", "Perhaps.", "0.5"])

    def serve(received: Received) -> Served:
        is_answer = "Reply with one word" in received.body["messages"][0]["content"]
        return chat_reply(said_of_answer(account_in(received)) if is_answer else "1.0")

    out = tmp_path / "run"
    with ChatServer(serve) as server:
        run(
            out,
            *judged_by(server.url),
            change=lambda stage: replace(stage, questions=lambda: InFreeWords(stage.questions())),
        )
    unread = 0
    for step in steps(out):
        for one in step:
            said = said_of_answer(one.trajectory.answer)
            assert one.trajectory.score is not None
            assert one.trajectory.score.values["accuracy"] == float(said == "YES")
            unread += said not in ("YES", "NO")
    assert unread > 0
    assert metric(out, "rollout/failed") == [0.0] * STEPS
    assert metric(out, "updates") == [1.0] * STEPS


def test_a_judge_who_refuses_the_key_stops_the_run_with_what_to_do(tmp_path: Path) -> None:
    with ChatServer(lambda _: Served(body="no such key", status=401)) as server, pytest.raises(UserError, match="key"):
        run(tmp_path / "run", *judged_by(server.url))
    assert not (tmp_path / "run").exists()


def test_the_key_comes_from_the_environment_and_is_in_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", "very-secret-key")
    out = tmp_path / "run"
    with ChatServer(lambda _: chat_reply("1.0")) as server:
        run(out, *judged_by(server.url, "judge.api_key_env=JUDGE_KEY"))
        assert {one.headers["authorization"] for one in server.received} == {"Bearer very-secret-key"}
    assert not [file for file in out.rglob("*") if file.is_file() and b"very-secret-key" in file.read_bytes()]


def test_several_models_are_an_ensemble_and_replies_on_disk_are_not_asked_for_again(tmp_path: Path) -> None:
    def serve(received: Received) -> Served:
        return chat_reply({"strict": "0.3", "kind": "1.0"}[str(received.body["model"])])

    with ChatServer(serve) as server:
        settings = judged_by(server.url, "judge.model=strict,kind", f"judge.cache_dir={tmp_path / 'replies'}")
        run(tmp_path / "first", *settings)
        asked = len(server.received)
        run(tmp_path / "second", *settings)
        assert len(server.received) == asked
    values = {
        one.trajectory.score.values["consistency"]
        for step in steps(tmp_path / "first")
        for one in of_stream(step, "textual")
        if "consistency" in one.trajectory.score.values
    }
    assert values == {0.65}
    assert sum(metric(tmp_path / "first", "time/judge_requests")) == asked
    assert sum(metric(tmp_path / "second", "time/judge_requests")) == 0
    assert sum(metric(tmp_path / "second", "time/judge_cache_hits")) == asked


def test_the_mean_of_four_is_asked_for_in_one_request(tmp_path: Path) -> None:
    with ChatServer(lambda _: chat_reply("1.0", "0.7", "0.7", "0.0")) as server:
        run(tmp_path / "run", *judged_by(server.url, "judge.samples=4", "judge.temperature=0.5"))
        assert {(one.body["n"], one.body["temperature"]) for one in server.received} == {(4, 0.5)}
    values = metric(tmp_path / "run", "textual/reward/consistency")
    assert values
    assert values == pytest.approx([0.6] * len(values))


def test_a_checkpoint_judges_in_this_process(tmp_path: Path) -> None:
    """The base model has never judged anything: whatever it says is no verdict."""
    out = tmp_path / "run"
    judge = ("judge.kind=checkpoint", f"judge.checkpoint={base_checkpoint()}", "judge.server.max_tokens=4")
    run(out, "rl.steps=2", *judge, "judge.tries=1")
    asked = sum(metric(out, "time/judge_requests"))
    assert asked > 0
    assert set(metric(out, "textual/noted/no_verdict")) == {1.0}
    assert metric(out, "updates") == [1.0, 1.0]


def test_with_no_judge_there_is_no_consistency_and_nothing_to_open() -> None:
    plan = tiny(RecipeContext(overrides=("judge.kind=none",)))
    assert reinforcement(plan).reward.consistency is None
    assert plan.resources == ()
