"""Worlds of text alone: reasoning-gym's questions and TextArena's games, which draw from global generators."""

import random
from contextlib import closing

import numpy as np
import pytest

from saccade.errors import UserError
from saccade.interop.environments.sources import WorldNames, source_of
from saccade.interop.environments.world import NumberedEpisode


def test_a_question_of_reasoning_gym_is_an_episode_of_one_turn() -> None:
    source = source_of(WorldNames(env="reasoning_gym:chain_sum", arguments={"max_terms": 2, "max_digits": 1}))
    with closing(source.make()) as world:
        question = world.reset(NumberedEpisode(number=7)).text
        numbers = question.rpartition(": ")[2].rstrip(" =")
        right = world.step(str(eval(numbers)))
        world.reset(NumberedEpisode(number=7))
        wrong = world.step("no idea")
    assert (right.reward, right.success, right.terminated) == (1.0, True, True)
    assert wrong.success is False


def test_an_argument_that_a_generator_has_not_is_refused() -> None:
    with pytest.raises(UserError, match="chain_sum refuses"):
        source_of(WorldNames(env="reasoning_gym:chain_sum", arguments={"max_trems": 2})).make().reset(
            NumberedEpisode(number=0)
        )


def test_a_game_of_textarena_is_won_by_its_hints_and_leaves_chance_alone() -> None:
    random.seed(5)
    expected = random.random()
    random.seed(5)
    source = source_of(WorldNames(env="textarena:GuessTheNumber-v0"))
    low, high = 1, 20
    with closing(source.make()) as world, closing(source.make()) as beside:
        world.reset(NumberedEpisode(number=2))
        beside.reset(NumberedEpisode(number=9))
        while True:
            guess = (low + high) // 2
            result = world.step(str(guess))
            beside.step("1")
            if result.terminated:
                break
            low, high = (guess + 1, high) if "higher" in result.shown.text else (low, guess - 1)
            assert "Player" not in result.shown.text.split("\n")[0], "the policy's own words are not shown again"
    assert (result.reward, result.success) == (1.0, True)
    assert random.random() == expected


def test_a_game_whose_corpus_is_not_there_says_how_to_fetch_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nltk.data.path", [])
    with pytest.raises(UserError, match=r"Wordle-v0 needs nltk's corpus '\w+'.*python -m nltk\.downloader \w+"):
        source_of(WorldNames(env="textarena:Wordle-v0")).make().reset(NumberedEpisode(number=0))


class Normals:
    """A game of TextArena's shape that says a normal number of NumPy's global generator, which draws them in pairs."""

    def reset(self, num_players: int, seed: int) -> None: ...

    def step(self, action: str) -> tuple[bool, dict[str, object]]:
        return False, {}

    def get_observation(self) -> tuple[int, str]:
        return 0, str(np.random.normal())


def test_worlds_that_draw_from_numpys_global_generator_disturb_neither_each_other_nor_anybody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = source_of(WorldNames(env="textarena:GuessTheNumber-v0"))
    np.random.seed(5)
    expected = [np.random.normal() for _ in range(5)]
    alone, beside = source.make(), source.make()
    for world in (alone, beside):
        monkeypatch.setattr(world, "_game", Normals())
    said = [alone.reset(NumberedEpisode(number=1)).text, *(alone.step("1").shown.text for _ in range(4))]
    np.random.seed(5)
    drawn = [np.random.normal()]
    again = [alone.reset(NumberedEpisode(number=1)).text]
    beside.reset(NumberedEpisode(number=2))
    for _ in range(4):
        again.append(alone.step("1").shown.text)
        drawn.append(np.random.normal())
        beside.step("1")
    assert (again, drawn) == (said, expected)
    assert len(set(said)) == 5
