"""An evaluation at a server: kept at once, resumed to the same bytes, failures apart, samples shared between runs."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from saccade.config.context import RecipeContext
from saccade.errors import UserError
from saccade.evaluation.figures import figures
from saccade.evaluation.journal import SampleJournal
from saccade.evaluation.sample_files import read_samples, read_times
from saccade.evaluation.samples import SampleSet
from saccade.media.store import MediaStore
from saccade.recipes.evaluation import evaluation
from saccade.recipes.evaluation_settings import ServedModel
from saccade.rewards.reward import own_reward
from saccade.testing.chat_server import ChatServer, Received, Served, chat_reply
from saccade.train.run import run_plan
from saccade.train.state import Keeping

LOOK = (
    '<think>look</think><tool_call>{"name": "crop", "arguments": {"bbox_2d": [4, 4, 40, 40], "image": 1}}</tool_call>'
)
QUESTIONS = 6


def looker(received: Received) -> Served:
    """Looks once, then answers 3."""
    has_looked = "look</think>" in json.dumps(received.body["messages"])
    return chat_reply(
        "<think>so</think><answer>3</answer>" if has_looked else LOOK, prompt_tokens=100, completion_tokens=7
    )


def measure(
    out: Path,
    url: str,
    *,
    resume: bool = False,
    keeping: Keeping = Keeping(),
    overrides: tuple[str, ...] = (),
    model: str = "stub",
) -> SampleSet:
    context = RecipeContext(overrides=("server.retries=0", *overrides))
    plan = evaluation(
        context,
        family="counting",
        count=QUESTIONS,
        protocols=("tagged",),
        tools=("crop",),
        server=ServedModel(url=url, name=model),
    )
    run_plan(plan, out=out, media=context.media, seed=0, resume=resume, keeping=keeping)
    return read_samples(out / "samples" / "tagged.jsonl")


def test_a_servers_model_plays_with_tools_and_every_reply_is_counted(tmp_path: Path) -> None:
    with ChatServer(looker) as server:
        found = measure(tmp_path / "run", server.url)
        images = [json.dumps(one.body).count("image_url") for one in server.received]
    assert [one.status for one in found.samples] == ["answered"] * QUESTIONS
    one = found.samples[0]
    assert (one.turns, one.tokens_in, one.tokens_out, one.images, dict(one.calls)) == (2, 200, 14, 2, {"crop": 1})
    # Each picture twice by its name: the key and the type.
    assert sorted(set(images)) == [2, 4]
    assert found.header.model["model"] == "stub"
    assert [one.wall_s > 0 for one in read_times(tmp_path / "run" / "samples" / "tagged.jsonl")] == [True] * QUESTIONS


def test_a_run_that_was_cut_short_asks_only_what_is_missing_and_ends_with_the_same_bytes(tmp_path: Path) -> None:
    calm, cut = tmp_path / "calm", tmp_path / "cut"
    with ChatServer(looker) as server:
        measure(calm, server.url)
        measure(cut, server.url)
        journal = cut / "journal" / "tagged.jsonl"
        lines = journal.read_bytes().splitlines(keepends=True)
        # As if killed while the third sample was being written.
        journal.write_bytes(b"".join(lines[:2]) + lines[2][:50])
        asked = len(server.received)
        measure(cut, server.url, resume=True)
        assert len(server.received) - asked == 2 * (QUESTIONS - 2)
    for name in ("samples/tagged.jsonl", "evaluations/tagged.jsonl"):
        assert (cut / name).read_bytes() == (calm / name).read_bytes()
    keys = [json.loads(line)["key"] for line in journal.read_bytes().splitlines()]
    assert len(set(keys)) == len(keys) == QUESTIONS


def test_a_kept_sample_whose_picture_is_lost_is_played_again(tmp_path: Path) -> None:
    with ChatServer(looker) as server:
        found = measure(tmp_path, server.url)
        asked = len(server.received)
        crops = {path.name for path in (tmp_path / "media").iterdir()} - question_pictures(found)
        (tmp_path / "media" / sorted(crops)[0]).unlink()
        again = measure(tmp_path, server.url, resume=True)
        # Equal crops of two questions are one picture.
        assert 2 <= len(server.received) - asked < 2 * QUESTIONS
    assert again == found


def question_pictures(found: SampleSet) -> set[str]:
    return {f"{path}.png" for path in pictures_of(len(found.samples))}


def pictures_of(count: int) -> list[str]:
    context = RecipeContext()
    plan = evaluation(context, family="counting", count=count, protocols=("direct",))
    [stage] = plan.stages
    return [image.hash for task in stage.tasks() for image in task.images]  # type: ignore[union-attr]


def sometimes(is_down: Callable[[int], bool]) -> Callable[[Received], Served]:
    """Answers 3 at once, but for the questions whose number of their coming says otherwise."""
    seen: list[int] = []

    def serve(received: Received) -> Served:
        seen.append(1)
        if is_down(len(seen)):
            return Served(body="down", status=500)
        return chat_reply("<think>so</think><answer>3</answer>")

    return serve


def test_what_the_machine_failed_is_not_scored_and_is_played_again_when_asked(tmp_path: Path) -> None:
    with ChatServer(sometimes(lambda number: number == 2)) as server:
        one_at_a_time = ("server.requests_at_once=1",)
        found = measure(tmp_path, server.url, overrides=one_at_a_time)
        assert [one.right is None for one in found.samples].count(True) == 1
        [failed] = [one for one in found.samples if one.right is None]
        assert (failed.status, failed.score) == ("failed", None)
        assert "500" in failed.failure
        asked = len(server.received)
        assert measure(tmp_path, server.url, resume=True, overrides=one_at_a_time) == found
        assert len(server.received) == asked
        mended = measure(tmp_path, server.url, resume=True, keeping=Keeping(retry_failed=True), overrides=one_at_a_time)
        assert len(server.received) == asked + 1
    assert [one.status for one in mended.samples] == ["answered"] * QUESTIONS


def test_another_run_takes_samples_that_are_the_same_by_their_key(tmp_path: Path) -> None:
    with ChatServer(looker) as server:
        first = measure(tmp_path / "first", server.url)
        asked = len(server.received)
        second = measure(tmp_path / "second", server.url, keeping=Keeping(reuse=(tmp_path / "first",)))
        assert len(server.received) == asked
        assert second.samples == first.samples
        # Other limits and another model shape the reply: nothing is shared.
        reuse = Keeping(reuse=(tmp_path / "first",))
        measure(tmp_path / "third", server.url, keeping=reuse, overrides=("rollout.max_turn_tokens=100",))
        measure(tmp_path / "fourth", server.url, keeping=reuse, model="other")
        assert len(server.received) == 3 * asked


def test_a_reply_that_its_limit_cut_off_is_wrong_and_no_failure(tmp_path: Path) -> None:
    def cut(received: Received) -> Served:
        del received
        body = json.loads(chat_reply("<think>and so on").body)
        body["choices"][0]["finish_reason"] = "length"
        return Served(body=json.dumps(body))

    with ChatServer(cut) as server:
        found = measure(tmp_path, server.url)
    assert {(one.status, one.right, one.turns) for one in found.samples} == {("token_limit", False, 1)}


def test_refusals_and_what_a_filter_took_are_wrong_at_once_and_counted_beside_the_accuracy(tmp_path: Path) -> None:
    def refuse(received: Received) -> Served:
        asked = len(server.received)
        body = json.loads(chat_reply("<think>so</think><answer>3</answer>" if asked % 3 == 0 else "").body)
        if asked % 3 == 1:
            body["choices"][0] |= {"finish_reason": "content_filter", "message": {"content": None}}
        if asked % 3 == 2:
            body["choices"][0]["message"] = {"content": None, "refusal": "I cannot help with that."}
        return Served(body=json.dumps(body))

    with ChatServer(refuse) as server:
        found = measure(tmp_path, server.url, overrides=("max_turns=1", "server.requests_at_once=1"))
        assert len(server.received) == QUESTIONS
    assert [one.refused for one in found.samples].count(True) == 4
    assert [one.right for one in found.samples if one.refused] == [False] * 4
    counted = figures(found)
    assert (counted.refused, counted.failed, counted.empty, counted.not_in_form) == (4, 0, 0, 0)
    assert counted.describe().endswith("; 4 refused")


def test_a_conversation_that_the_model_has_made_too_long_ends_as_an_engine_would_end_it(tmp_path: Path) -> None:
    full = Served(body='{"error": {"message": "maximum context length is 4096 tokens"}}', status=400)

    def crowded(received: Received) -> Served:
        return full if "look</think>" in json.dumps(received.body["messages"]) else chat_reply(LOOK)

    with ChatServer(crowded) as server:
        found = measure(tmp_path, server.url)
    assert {(one.status, one.right, one.turns) for one in found.samples} == {("token_limit", False, 1)}


def test_a_server_that_refuses_all_ends_the_run_with_advice(tmp_path: Path) -> None:
    with ChatServer(lambda _: Served(body="who are you", status=401)) as server, pytest.raises(UserError, match="401"):
        measure(tmp_path, server.url)


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "journal" / "a.jsonl"
    path.parent.mkdir()
    path.write_bytes(b'{"key": "a"}\n')
    with pytest.raises(UserError, match=r"a\.jsonl:1: .*delete this line"):
        SampleJournal(path, media=MediaStore(), media_directory=tmp_path / "media")


def test_a_sample_under_the_key_of_another_question_is_played_again_and_refused_from_another_run(
    tmp_path: Path,
) -> None:
    forged, other = tmp_path / "forged", tmp_path / "other"
    with ChatServer(looker) as server:
        measure(forged, server.url)
        right = (forged / "samples" / "tagged.jsonl").read_bytes()
        journal = forged / "journal" / "tagged.jsonl"
        lines = [json.loads(line) for line in journal.read_bytes().splitlines()]
        # The first question's sample stands for the second one's.
        lines[1] = {**lines[0], "key": lines[1]["key"]}
        journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
        # Somebody who forges a sample forges its checksum.
        shutil.rmtree(forged / "line_sums")
        asked = len(server.received)
        with pytest.raises(UserError, match="belongs to another request"):
            measure(other, server.url, keeping=Keeping(reuse=(forged,)))
        measure(forged, server.url, resume=True)
        assert len(server.received) - asked == 2
    assert (forged / "samples" / "tagged.jsonl").read_bytes() == right


def test_a_picture_of_the_journal_that_was_changed_is_told(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with ChatServer(looker) as server:
        measure(run, server.url)
        shown = [
            image["hash"]
            for line in (run / "journal" / "tagged.jsonl").read_text().splitlines()
            for turn in json.loads(line)["trajectory"]["turns"]
            for image in (turn.get("result") or {}).get("images", [])
        ]
        Image.new("RGB", (8, 8)).save(run / "media" / f"{shown[0]}.png")
        with pytest.raises(UserError, match="the picture does not match its name"):
            measure(run, server.url, resume=True)


def test_a_reward_of_ones_own_is_known_by_its_source(tmp_path: Path) -> None:
    hashes = []
    with ChatServer(sometimes(lambda _: False)) as server:
        for number, rule in enumerate(("trajectory.answer == task.answer", "True")):
            (tmp_path / "mine.py").write_text(
                "from saccade.rewards.reward import Score, Term\n\ndef mine(task, trajectory):\n"
                f"    return Score(terms=(Term(name='mine', value=1.0),), is_right={rule})\n"
            )
            context = RecipeContext()
            plan = evaluation(
                context,
                family="counting",
                count=1,
                protocols=("direct",),
                reward=own_reward(f"{tmp_path}/mine.py:mine"),
                server=ServedModel(url=server.url, name="stub"),
            )
            run_plan(plan, out=tmp_path / str(number), media=context.media, seed=0)
            kept = read_samples(tmp_path / str(number) / "samples" / "direct.jsonl")
            hashes.append(kept.header.asked["reward_sha256"])
    assert hashes[0] != hashes[1]
