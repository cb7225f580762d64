"""What is told of a batch while it is played."""

from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from saccade.engines.engine import Completion
from saccade.heartbeat import PHASES
from saccade.rollout.batch import rollout_batch
from saccade.rollout.episodes import RolloutSettings

SETTINGS = RolloutSettings(max_turn_tokens=40, max_tokens=400)


@dataclass
class ListeningEngine:
    """The slot of each trajectory says as many words as its place, then answers; ``heard`` is what was told then."""

    chat: object
    heard: list[str] = field(default_factory=list)
    open_turns_counted: int = 0
    policy_version: int = 0

    @asynccontextmanager
    async def sequences(self, labels):
        yield [ListeningSlot(self, place) for place in range(len(labels))]


@dataclass
class ListeningSlot:
    engine: ListeningEngine
    left: int
    open_ids: tuple[int, ...] = ()

    async def sample(self, ids, images, sampling):
        chat = self.engine.chat
        said = (*chat.encode("word" if self.left else "<answer>red</answer>"), chat.eos_id)
        self.left -= 1
        self.open_ids = said
        self.engine.heard.append(PHASES.in_words())
        self.open_ids = ()
        return Completion(ids=said, logprobs=(-1.0,) * len(said), finish="eos")

    def sampled_so_far(self):
        self.engine.open_turns_counted += len(self.open_ids) > 0
        return Completion(ids=self.open_ids, logprobs=(), finish="length")

    def close(self) -> None: ...


def test_a_batch_says_what_is_done_and_how_fast(model, requests_for, looking):
    engine = ListeningEngine(model.chat)
    rollout_batch(requests_for(["a"], samples=3), engine=engine, chat=model.chat, make_env=looking(), settings=SETTINGS)
    assert all(one.startswith("sampling: ") and "tokens/s" in one for one in engine.heard)
    # The tokens of an open turn count: a slow first turn is not silent.
    assert engine.open_turns_counted == len(engine.heard)
    assert "0 of 3 trajectories done, turn 1" in engine.heard[0]
    # The second ends in a thread meanwhile, or has ended.
    assert "of 3 trajectories done, turn 3" in engine.heard[-1]
    assert PHASES.in_words() == ""


def test_a_tool_at_work_is_told(model, requests_for, looking):
    make_env = looking()
    heard = []

    def listening():
        env = make_env()
        step = env.step
        env.step = lambda action: (heard.append(PHASES.in_words()), step(action))[1]
        return env

    engine = ListeningEngine(model.chat)
    rollout_batch(requests_for(["a"]), engine=engine, chat=model.chat, make_env=listening, settings=SETTINGS)
    assert heard
    assert all(one.partition(" tokens/s")[2].startswith(", 1 in their environment") for one in heard)
