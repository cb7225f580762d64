"""What is told while a step lasts: each of its parts has words of its own."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace

import pytest
from test_run_stages import RL, ByStep, Witness, token_reward
from torch.optim.optimizer import register_optimizer_step_pre_hook

from saccade.engines.engine import WeightSource
from saccade.engines.local import LocalEngine, LocalSequence
from saccade.heartbeat import PHASES
from saccade.learner.learner import Learner
from saccade.tasks.curriculum import Question
from saccade.train.loops import RLLoop
from saccade.train.stages import SFTStage, with_episodes
from saccade.train.supervised import supervise
from saccade.types import Score, Task, Trajectory


@dataclass
class Heard:
    """The words of the innermost phase, where something asked for them."""

    words: dict[str, str] = field(default_factory=dict)

    def note(self, place: str) -> None:
        self.words[place] = PHASES.in_words().rpartition(", ")[0].partition(": ")[2]


class HeardEngine(LocalEngine):
    heard: Heard

    def sequences(self, labels: Sequence[str]) -> AbstractAsyncContextManager[Sequence[LocalSequence]]:
        self.heard.note("opening slots")
        return super().sequences(labels)

    def update_weights(self, source: WeightSource, version: int) -> None:
        self.heard.note("weights")
        super().update_weights(source, version)


def test_every_part_of_a_step_of_reinforcement_has_words_of_its_own() -> None:
    heard, witness = Heard(), Witness(settings=replace(RL, steps=1))

    def asked(step: int) -> list[Question]:
        heard.note("questions")
        return witness.asked(step)

    def reward(task: Task, trajectory: Trajectory) -> Score:
        heard.note("reward")
        return token_reward(task, trajectory)

    stage = replace(witness.reinforcement(), questions=lambda: ByStep(asked), reward=reward)
    model = witness.build_model()
    engine = HeardEngine(model)
    engine.heard = heard
    hook = register_optimizer_step_pre_hook(lambda *_: heard.note("optimiser"))
    try:
        with PHASES.phase(lambda: "rl 0/1"):
            learner = Learner(model, RL.optimizer)
            next(RLLoop(stage, model, engine, learner, seed=0, first_step=0, load_reference=witness.build_model))
    finally:
        hook.remove()
    assert heard.words["opening slots"].startswith("sampling: 0 of 6 trajectories done, turn 1")
    assert {name: words for name, words in heard.words.items() if name != "opening slots"} == {
        "questions": "drawing questions",
        "reward": "rewarding 2 groups",
        "optimiser": "taking the optimiser's step",
        "weights": "handing the weights over",
    }


def test_demonstrations_that_take_long_are_told() -> None:
    heard, witness = Heard(), Witness()
    stage = witness.plan().stages[0]
    model = witness.build_model()
    listening = replace(
        stage, source=lambda index, share: (heard.note("source"), witness.demonstration(index, share))[1]
    )
    with PHASES.phase(lambda: "sft 0/2"):
        next(supervise(listening, model, Learner(model, RL.optimizer), first_step=0))
    assert heard.words == {"source": "making demonstrations"}


@pytest.mark.parametrize(("limit", "says"), [(2, True), (256, False)])
def test_demonstrations_that_no_turn_can_hold_are_told_once(
    limit: int, says: bool, caplog: pytest.LogCaptureFixture
) -> None:
    witness = Witness()
    stage = witness.plan().stages[0]
    assert isinstance(stage, SFTStage)
    short = with_episodes(
        stage, lambda episodes: replace(episodes, rollout=replace(episodes.rollout, max_turn_tokens=limit))
    )
    assert isinstance(short, SFTStage)
    model = witness.build_model()
    steps = supervise(short, model, Learner(model, RL.optimizer), first_step=0)
    assert len([next(steps) for _ in range(2)]) == 2
    told = [record.getMessage() for record in caplog.records if "max_turn_tokens" in record.getMessage()]
    assert len(told) == says
    assert all(f"more than rollout.max_turn_tokens={limit} tokens" in one for one in told)
