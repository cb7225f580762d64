"""Rollouts of a tiny real model in a small environment, and of engines that break."""

import asyncio
from collections.abc import Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest

from saccade.engines.engine import Completion, EngineLostError, Sampling
from saccade.engines.local import LocalEngine
from saccade.errors import MachineError, SaccadeError, UserError
from saccade.rollout.batch import PlayedAs, rollout, rollout_batch, rollout_streams
from saccade.rollout.episodes import RolloutSettings
from saccade.types import Answer, ImageRef

SETTINGS = RolloutSettings(max_turn_tokens=40, max_tokens=400, retry_wait_s=0.001)


@dataclass
class RecordingSlot:
    """Passes everything on to a real slot and keeps what went through."""

    slot: object
    asked: list[tuple[tuple[int, ...], tuple[ImageRef, ...], Sampling]] = field(default_factory=list)
    answered: list[Completion] = field(default_factory=list)

    async def sample(self, ids, images, sampling):
        self.asked.append((tuple(ids), tuple(images), sampling))
        self.answered.append(await self.slot.sample(ids, images, sampling))
        return self.answered[-1]

    def close(self) -> None:
        self.slot.close()


@dataclass
class RecordingEngine:
    """A real engine whose traffic can be looked at afterwards."""

    engine: LocalEngine
    slots_made: list[RecordingSlot] = field(default_factory=list)

    @property
    def policy_version(self) -> int:
        return self.engine.policy_version

    @asynccontextmanager
    async def sequences(self, labels):
        async with self.engine.sequences(labels) as slots:
            self.slots_made = [RecordingSlot(slot) for slot in slots]
            yield self.slots_made


@dataclass
class SayingEngine:
    """Says the given texts, turn by turn, to every trajectory."""

    chat: object
    texts: Sequence[str]
    error: Exception | None = None
    policy_version: int = 0

    @asynccontextmanager
    async def sequences(self, labels):
        yield [SayingSlot(self.chat, list(self.texts), self.error) for _ in labels]


@dataclass
class SayingSlot:
    chat: object
    texts: list[str]
    error: Exception | None

    async def sample(self, ids, images, sampling):
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error
        said = (*self.chat.encode(self.texts.pop(0)), self.chat.eos_id)
        return Completion(ids=said, logprobs=(-1.0,) * len(said), finish="eos")

    def close(self) -> None: ...


def run(model, requests, make_env, settings=SETTINGS, **engine_settings):
    return rollout_batch(
        requests, engine=LocalEngine(model, **engine_settings), chat=model.chat, make_env=make_env, settings=settings
    )


def test_sampled_ids_and_logprobs_reach_the_trajectory_untouched(model, requests_for, looking):
    engine = RecordingEngine(LocalEngine(model, policy_version=7))
    requests = requests_for(["a", "b"], samples=3)
    done = rollout_batch(requests, engine=engine, chat=model.chat, make_env=looking(), settings=SETTINGS)
    assert [(t.task_id, t.sample, t.seed) for t in done] == [(r.task.id, r.sample, r.seed) for r in requests]
    for trajectory, slot in zip(done, engine.slots_made):
        actions = [segment for segment in trajectory.segments if segment.role == "action"]
        assert [(action.ids, action.logprobs) for action in actions] == [
            (each.ids, each.logprobs) for each in slot.answered
        ]
        asked_ids, asked_images, _ = slot.asked[-1]
        assert trajectory.ids[: len(asked_ids)] == asked_ids
        assert trajectory.ids == (*asked_ids, *slot.answered[-1].ids)
        assert trajectory.images == asked_images
        assert [action.turn for action in actions] == list(range(len(actions)))
        assert (trajectory.policy_version, trajectory.failure) == (7, "")


def test_segments_alternate_and_images_match_their_placeholders(model, requests_for, looking):
    settings = RolloutSettings(max_turn_tokens=200, max_tokens=2000)
    for trajectory in run(model, requests_for("abc"), looking(), settings):
        roles = [segment.role for segment in trajectory.segments]
        assert roles == (["prompt", "action"] + ["observation", "action"] * len(roles))[: len(roles)]
        for segment in trajectory.segments:
            expected = sum(model.chat.token_count(image) for image in segment.images)
            assert segment.ids.count(model.image_token_id) == expected
        assert len(trajectory.turns) == roles.count("action")


def test_environment_reads_what_the_model_wrote(model, requests_for, looking):
    make_env = looking()
    [trajectory] = run(model, requests_for("a"), make_env)
    actions = [segment.ids for segment in trajectory.segments if segment.role == "action"]
    assert make_env.made[0].texts == [model.chat.decode(ids) for ids in actions]
    assert not make_env.made[0].is_open


def test_an_answer_ends_the_trajectory_answered(model, requests_for, looking):
    engine = SayingEngine(model.chat, ["<think>Look closer.</think>", "<answer>rows</answer>"])
    [trajectory] = rollout_batch(
        requests_for("a"), engine=engine, chat=model.chat, make_env=looking(), settings=SETTINGS
    )
    assert trajectory.status == "answered"
    assert trajectory.turns[-1].action == Answer(text="<answer>rows</answer>")
    assert [segment.role for segment in trajectory.segments] == ["prompt", "action", "observation", "action"]


def test_the_last_turn_without_an_answer_ends_at_the_turn_limit(model, requests_for, looking):
    engine = SayingEngine(model.chat, ["What"] * 3)
    [trajectory] = rollout_batch(
        requests_for("a"), engine=engine, chat=model.chat, make_env=looking(), settings=SETTINGS
    )
    assert (trajectory.status, len(trajectory.turns)) == ("turn_limit", 3)
    assert trajectory.segments[-1].role == "action"


def test_a_turn_cut_off_by_its_length_ends_at_the_token_limit_after_the_environment_read_it(
    model, requests_for, looking
):
    settings = RolloutSettings(max_turn_tokens=1)
    done = run(model, requests_for("a", samples=8), looking(stop=()), settings)
    assert {(t.status, len(t.turns), len(t.segments)) for t in done} == {("token_limit", 1, 2)}


def test_a_turn_cut_off_by_its_length_is_followed_by_another_where_the_settings_say_so(model, requests_for, looking):
    settings = RolloutSettings(max_turn_tokens=1, corrects_cut_turns=True)
    engine = RecordingEngine(LocalEngine(model))
    requests = requests_for("a", samples=8)
    done = rollout_batch(requests, engine=engine, chat=model.chat, make_env=looking(stop=()), settings=settings)
    for trajectory, slot in zip(done, engine.slots_made):
        cut = [one.finish == "length" for one in slot.answered]
        assert (len(trajectory.turns), trajectory.cut_turns) == (3, sum(cut[:-1]))
        assert trajectory.status == ("token_limit" if cut[-1] else "turn_limit")
        # Where a turn did not end itself, the observation ends it.
        shown = [one for one in trajectory.segments if one.role == "observation"]
        assert [one.ids[0] == model.chat.eos_id for one in shown] == cut[:-1]
        assert trajectory.ids == (*slot.asked[-1][0], *slot.answered[-1].ids)
    assert max(trajectory.cut_turns for trajectory in done) == 2


def test_cut_turns_go_on_no_longer_than_the_trajectory_may_become(model, requests_for, looking):
    settings = RolloutSettings(max_turn_tokens=20, max_tokens=160, corrects_cut_turns=True)
    done = run(model, requests_for("a", samples=8), looking(stop=(), turn_limit=9), settings)
    assert max(len(trajectory.ids) for trajectory in done) <= 160
    ended = [trajectory for trajectory in done if trajectory.status == "token_limit"]
    assert 1 < max(len(trajectory.turns) for trajectory in ended) < 9


def test_an_observation_that_does_not_fit_ends_at_the_token_limit(model, requests_for, looking):
    engine = SayingEngine(model.chat, ["What"] * 3)
    make_env = looking(observation="You see a crop. " * 200)
    [trajectory] = rollout_batch(
        requests_for("a"), engine=engine, chat=model.chat, make_env=make_env, settings=SETTINGS
    )
    assert (trajectory.status, len(trajectory.turns)) == ("token_limit", 1)
    assert [segment.role for segment in trajectory.segments] == ["prompt", "action"]
    assert len(trajectory.ids) < SETTINGS.max_tokens


def test_no_trajectory_exceeds_its_token_budget(model, requests_for, looking):
    settings = RolloutSettings(max_turn_tokens=50, max_tokens=110)
    done = run(model, requests_for("ab", samples=8), looking(), settings)
    assert max(len(trajectory.ids) for trajectory in done) <= 110
    assert {trajectory.status for trajectory in done} <= {"token_limit", "turn_limit", "answered"}


def test_a_prompt_that_leaves_no_room_fails_with_advice(model, requests_for, looking):
    settings = RolloutSettings(max_tokens=10)
    [trajectory] = run(model, requests_for("a"), looking(), settings)
    assert trajectory.status == "failed"
    assert "raise max_tokens" in trajectory.failure


def test_a_tool_that_fails_once_is_tried_again(model, requests_for, looking):
    make_env = looking(errors={"a": [MachineError("the tool server is gone")]})
    flawless = run(model, requests_for("a"), looking())
    assert run(model, requests_for("a"), make_env) == flawless


def test_a_tool_that_keeps_failing_ends_its_trajectory_and_no_other(model, requests_for, looking):
    broken = [ConnectionError("no route to the tool server")] * 3
    make_env = looking(errors={"b": broken})
    first, second, third = run(model, requests_for("abc"), make_env)
    flawless = run(model, requests_for("abc"), looking())
    assert [(t.ids, t.turns, t.status) for t in (first, third)] == [
        (t.ids, t.turns, t.status) for t in (flawless[0], flawless[2])
    ]
    assert (second.status, second.failure) == (
        "failed",
        "step of the environment: ConnectionError: no route to the tool server",
    )
    assert [segment.role for segment in second.segments] == ["prompt", "action"]
    assert second.turns == ()


def test_a_task_that_cannot_be_rendered_fails_alone(model, requests_for, looking):
    class Forger(type(looking()())):
        def reset(self, *, seed=None, options=None):
            shown = super().reset(seed=seed, options=options)
            if self.task.id == "b":
                self.prompt = ({"role": "user"}, *self.prompt)[1:]
                self.prompt = tuple(
                    type(message)(role=message.role, parts=(*message.parts, "<|image_pad|>")) for message in self.prompt
                )
            return shown

    made = looking()
    first, second = run(model, requests_for("ab"), lambda: Forger(crop=made().crop))
    assert first.status != "failed"
    assert second.status == "failed"
    assert "image token" in second.failure


def test_an_error_of_the_engine_ends_the_batch_with_that_error(model, requests_for, looking):
    engine = SayingEngine(model.chat, [], error=SaccadeError("the weights have diverged"))
    with pytest.raises(SaccadeError, match="diverged"):
        rollout_batch(requests_for("abc"), engine=engine, chat=model.chat, make_env=looking(), settings=SETTINGS)


def test_an_engine_that_is_out_of_reach_fails_the_trajectory(model, requests_for, looking):
    engine = SayingEngine(model.chat, [], error=MachineError("the server does not answer"))
    [trajectory] = rollout_batch(
        requests_for("a"), engine=engine, chat=model.chat, make_env=looking(), settings=SETTINGS
    )
    assert (trajectory.status, trajectory.failure) == ("failed", "the server does not answer")


def test_a_slow_tool_delays_only_its_own_trajectory(model, requests_for, looking):
    finished = []
    make_env = looking(sleep_s={"b": 0.5}, turn_limit=2)
    done = rollout_batch(
        requests_for("abcdef"),
        engine=LocalEngine(model, deterministic=False),
        chat=model.chat,
        make_env=make_env,
        settings=SETTINGS,
        on_finished=lambda trajectory: finished.append(trajectory.task_id),
    )
    assert [t.task_id for t in done] == list("abcdef")
    assert finished[-1] == "b"
    assert set(finished[:-1]) == set("acdef")


def test_the_outcome_does_not_depend_on_how_long_tools_take(model, requests_for, looking):
    requests = requests_for("abcd", samples=2)
    swift = run(model, requests, looking(), max_rows=3)
    slow = run(model, requests, looking(sleep_s={"b": 0.02, "c": 0.01}), max_rows=3)
    assert slow == swift


def test_every_trajectory_is_the_same_alone(model, requests_for, looking):
    requests = requests_for("abcd", samples=2)
    together = run(model, requests, looking())
    assert max(len(trajectory.turns) for trajectory in together) == 3
    for index in range(8):
        [alone] = run(model, [requests[index]], looking())
        assert alone.ids == together[index].ids
        assert alone.turns == together[index].turns


def test_a_group_costs_one_prompt_and_each_turn_only_what_is_new(model, requests_for, looking):
    engine = LocalEngine(model)
    done = rollout_batch(
        requests_for("ab", samples=4), engine=engine, chat=model.chat, make_env=looking(), settings=SETTINGS
    )
    prompts = sum(len(done[index].segments[0].ids) for index in (0, 4))
    observations = [s.ids for t in done for s in t.segments if s.role == "observation"]
    sampled = sum(len(s.ids) for t in done for s in t.segments if s.role == "action")
    assert (engine.work.prompts_prefilled, engine.work.prompts_shared) == (2, 6)
    assert engine.work.tokens_prefilled == prompts + sum(len(ids) + 1 for ids in observations)
    assert engine.work.tokens_sampled == sampled
    # The last token of a turn is forwarded with the observation after it, or never.
    assert engine.work.tokens_decoded == sampled - len(done) - len(observations)
    assert engine.images_encoded <= 2


def test_an_empty_batch_is_an_empty_list(model, looking):
    assert run(model, [], looking()) == []


def test_cancelling_a_batch_closes_every_environment(model, requests_for, looking):
    make_env = looking(sleep_s={"a": 0.2})
    settings = RolloutSettings(max_turn_tokens=300, max_tokens=4000)

    async def cancel() -> None:
        batch = asyncio.create_task(
            rollout(
                requests_for("ab"),
                engine=LocalEngine(model),
                chat=model.chat,
                streams={"main": PlayedAs(make_env=make_env, settings=settings)},
            )
        )
        await asyncio.sleep(0.05)
        batch.cancel()
        with pytest.raises(asyncio.CancelledError):
            await batch

    asyncio.run(asyncio.wait_for(cancel(), 10))
    assert [env.is_open for env in make_env.made] == [False, False]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("max_turn_tokens", 0),
        ("max_tokens", 1),
        ("tool_threads", 0),
        ("temperature", -0.1),
        ("top_p", 0.0),
        ("top_k", -1),
        ("machine_retries", -1),
    ],
)
def test_impossible_settings_are_refused_with_their_value(setting, value):
    with pytest.raises(UserError, match=f"{setting}={value}"):
        RolloutSettings(**{setting: value})


def test_streams_with_other_environments_and_limits_are_one_batch_and_sample_what_they_would_alone(
    model, requests_for, looking
):
    long, short = SETTINGS, replace(SETTINGS, max_turn_tokens=3)
    asked = [replace(one, stream=stream) for stream in ("long", "short") for one in requests_for(["a", "b"], samples=2)]
    streams = {
        "long": PlayedAs(make_env=looking(), settings=long),
        "short": PlayedAs(make_env=looking(), settings=short),
    }
    engine = RecordingEngine(LocalEngine(model))
    together = rollout_streams(asked, engine=engine, chat=model.chat, streams=streams)
    assert len(engine.slots_made) == len(asked)
    assert [one.stream for one in together] == [one.stream for one in asked]
    alone = [
        one
        for stream, settings in (("long", long), ("short", short))
        for one in run(model, [each for each in asked if each.stream == stream], looking(), settings)
    ]
    assert [one.ids for one in together] == [one.ids for one in alone]
    assert all(len(slot.answered[0].ids) <= 3 for slot in engine.slots_made[4:])
    assert any(len(slot.answered[0].ids) > 3 for slot in engine.slots_made[:4])


@dataclass
class DyingEngine(SayingEngine):
    """Ends in the middle of its first batches."""

    deaths: int = 1
    batches: int = 0

    @asynccontextmanager
    async def sequences(self, labels):
        self.batches += 1
        is_last = self.batches > self.deaths
        dying = [] if is_last else [EngineLostError("the engine's process was ended by SIGKILL")]
        slots = [SayingSlot(self.chat, list(self.texts), None) for _ in labels]
        yield [*slots[:-1], SayingSlot(self.chat, list(self.texts), *(dying or [None]))]


def test_a_batch_whose_engine_died_is_played_anew(model, requests_for, looking, caplog):
    requests, told = requests_for(["a"], samples=3), []
    answer = ["<answer>red</answer>"]
    once = rollout_batch(
        requests, engine=SayingEngine(model.chat, answer), chat=model.chat, make_env=looking(), settings=SETTINGS
    )
    engine = DyingEngine(model.chat, answer)
    again = rollout_batch(
        requests, engine=engine, chat=model.chat, make_env=looking(), settings=SETTINGS, on_finished=told.append
    )
    assert again == once
    assert engine.batches == 2
    assert sorted(one.sample for one in told) == [0, 1, 2]
    assert "the batch of 3 trajectories is played again" in caplog.text


def test_an_engine_that_dies_in_every_batch_ends_the_run(model, requests_for, looking):
    engine = DyingEngine(model.chat, ["<answer>red</answer>"], deaths=99)
    with pytest.raises(MachineError, match=r"SIGKILL; this happened 3 times in a row to a batch of 1 traj"):
        rollout_batch(requests_for(["a"]), engine=engine, chat=model.chat, make_env=looking(), settings=SETTINGS)
    assert engine.batches == 3
