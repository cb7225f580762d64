"""Environments that nobody here wrote, played by words: MiniGrid, Gymnasium's own; names that are wrong."""

from contextlib import closing
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from PIL import Image

from saccade.errors import UserError
from saccade.interop.environments.gymnasium_world import GymnasiumSource, GymnasiumWorld
from saccade.interop.environments.observations import shown_from
from saccade.interop.environments.own_worlds import world_of
from saccade.interop.environments.play import random_example, unlike_itself
from saccade.interop.environments.sources import WorldNames, source_of
from saccade.interop.environments.world import EndlessSource, NumberedEpisode, episode_of_task, episode_task
from saccade.types import Task

EMPTY = GymnasiumSource(id="MiniGrid-Empty-5x5-v0")
TO_THE_GOAL = ["forward", "forward", "right", "forward", "forward"]
"""MiniGrid's smallest room: the goal is two steps to the right and two down."""


def test_minigrid_is_seen_as_drawn_and_moved_by_words() -> None:
    with closing(EMPTY.make()) as world:
        shown = world.reset(NumberedEpisode(number=0))
        assert "left, right, forward" in world.rules
        assert shown.text == "mission: get to the green goal square"
        assert [picture.size for picture in shown.pictures] == [(160, 160)]
        results = [world.step(action) for action in TO_THE_GOAL]
    assert [result.terminated for result in results] == [False, False, False, False, True]
    assert 0.9 < results[-1].reward < 1
    assert [result.reward for result in results[:-1]] == [0.0] * 4


def test_an_action_is_named_without_regard_to_case_and_spaces() -> None:
    with closing(GymnasiumSource(id="MiniGrid-DoorKey-5x5-v0").make()) as world:
        world.reset(NumberedEpisode(number=1))
        assert not world.step(" Forward ").invalid
        refused = world.step("fly " * 100)
    assert refused.invalid.startswith("there is no action 'fly fly")
    assert len(refused.invalid) < 200


def test_the_same_episode_begins_alike_and_splits_have_their_own() -> None:
    with closing(GymnasiumSource(id="MiniGrid-FourRooms-v0").make()) as world:
        first, again = world.reset(NumberedEpisode(number=3)), world.reset(NumberedEpisode(number=3))
        other = world.reset(NumberedEpisode(number=3, split="test"))
    assert first.pictures[0].tobytes() == again.pictures[0].tobytes()
    assert first.pictures[0].tobytes() != other.pictures[0].tobytes()


@pytest.mark.parametrize(
    ("name", "actions", "beginning"),
    [
        ("FrozenLake-v1", ("left", "down", "right", "up"), "observation: 0"),
        ("CartPole-v1", ("push left", "push right"), "observation: ["),
        ("Blackjack-v1", ("stick", "hit"), "observation: "),
    ],
)
def test_numbers_are_text_where_nothing_is_drawn(name: str, actions: tuple[str, ...], beginning: str) -> None:
    source = GymnasiumSource(id=name, pictures="none")
    assert source.actions() == actions
    with closing(source.make()) as world:
        shown = world.reset(NumberedEpisode(number=0))
    assert shown.text.startswith(beginning)
    assert shown.pictures == ()


def test_actions_that_no_text_can_name_are_refused() -> None:
    with pytest.raises(UserError, match=r"Box.*discrete actions and text"):
        GymnasiumSource(id="Pendulum-v1").make()


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ("gymnasium:MiniGrid-Emty-5x5-v0", "Did you mean MiniGrid-Empty-5x5-v0"),
        ("gymnasium:nothing_there:Some-v0", "needs the package nothing_there"),
        ("gymnasim:X", "Did you mean gymnasium:X"),
        ("MiniGrid-Empty-5x5-v0", "names no environment"),
        ("reasoning_gym:chain_sun", "Did you mean chain_sum"),
        ("textarena:GuessTheNumbr-v0", "Did you mean GuessTheNumber-v0"),
        ("textarena:TicTacToe-v0", "no game for one player"),
        ("openenv:http://127.0.0.1:9", "no OpenEnv server answers"),
        ("absent.py:make", "there is no environment file"),
    ],
)
def test_a_wrong_name_says_what_was_meant(env: str, said: str) -> None:
    with pytest.raises(UserError, match=said), closing(source_of(WorldNames(env=env)).make()) as world:
        world.reset(NumberedEpisode(number=0))


class Noisy(gymnasium.Env):  # type: ignore[type-arg]
    """An environment that draws without its seed."""

    action_space = spaces.Discrete(2)
    observation_space = spaces.Box(0, 255, (32, 32, 3), np.uint8)
    chance = np.random.default_rng(0)

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None):  # type: ignore[no-untyped-def, override]
        return self.chance.integers(0, 255, (32, 32, 3), dtype=np.uint8), {}


class Unrendered(Noisy):
    """Says that it can be drawn and takes no ``render_mode``, as VisGym's environments do; its picture is observed."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012 - Gymnasium's own declaration

    def __init__(self, sides: int = 32) -> None:
        self.sides = sides


def test_an_environment_that_takes_no_render_mode_is_seen_by_its_observation() -> None:
    gymnasium.register("tests/Unrendered-v0", entry_point=Unrendered)
    with closing(GymnasiumSource(id="tests/Unrendered-v0").make()) as world:
        assert [picture.size for picture in world.reset(NumberedEpisode(number=0)).pictures] == [(32, 32)]


class Silent(Noisy):
    """Its ``render`` gives nothing; it shows its pixels, a row of numbers and its mission."""

    render_mode = "rgb_array"

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None):  # type: ignore[no-untyped-def, override]
        return {"image": np.full((32, 32, 3), 80, np.uint8), "mission": "go", "pos": np.array([0, 1])}, {}

    def render(self) -> None: ...  # type: ignore[override]


def test_an_environment_that_draws_nothing_is_seen_by_its_observation_unless_its_drawing_is_asked_for() -> None:
    shown = world_of(Silent(), name="silent").reset(NumberedEpisode(number=0))
    assert (shown.text, [picture.size for picture in shown.pictures]) == ("mission: go\npos: [0, 1]", [(32, 32)])
    drawn = GymnasiumWorld(Silent(), GymnasiumSource(id="silent", pictures="render"))
    with pytest.raises(UserError, match="rendered no picture; use pictures=observation"):
        drawn.reset(NumberedEpisode(number=0))


class InTurns:
    """PettingZoo's shape: several agents, of whom one moves at a time."""

    possible_agents = ("player_1", "player_2")

    def agent_iter(self) -> None: ...

    def reset(self, seed: int | None = None) -> None: ...

    def step(self, action: int) -> None: ...

    def close(self) -> None: ...


def test_an_environment_of_several_agents_in_turn_is_refused_with_what_to_do() -> None:
    with pytest.raises(UserError, match="several agents play in turn; make a gymnasium"):
        world_of(InTurns(), name="tictactoe")


def test_the_rules_of_a_well_known_environment_say_its_goal() -> None:
    with closing(GymnasiumSource(id="FrozenLake-v1").make()) as world:
        assert "without falling into a hole. The actions are left" in world.rules


class ByAgent:
    """Gym-V's shape: everything is a dictionary by agent. The second step ends it."""

    def __init__(self, agents: int = 1) -> None:
        self.agents, self.heard = agents, list[str]()

    def reset(self, *, seed: int) -> tuple[dict[str, SimpleNamespace], dict[str, object]]:
        seen = SimpleNamespace(image=Image.new("RGB", (20, 20)), text="e4 or d4?", metadata={})
        return {f"agent_{number}": seen for number in range(self.agents)}, {}

    def step(self, action: dict[str, str]):  # type: ignore[no-untyped-def]
        self.heard.append(action["agent_0"])
        ended = len(self.heard) == 2
        seen = {} if ended else {"agent_0": SimpleNamespace(image=None, text="and now?", metadata={})}
        return seen, {"agent_0": float(ended)}, {"__all__": ended}, {"__all__": False}, {"agent_0": {"success": ended}}

    def close(self) -> None: ...


def test_an_environment_of_one_agent_in_dictionaries_is_a_world() -> None:
    env = ByAgent()
    world = world_of(env, name="Chess")
    shown = world.reset(NumberedEpisode(number=0))
    assert (shown.text, [picture.size for picture in shown.pictures]) == ("e4 or d4?", [(20, 20)])
    first, last = world.step(" e2e4 "), world.step("d2d4")
    assert (first.shown.text, first.reward, first.terminated) == ("and now?", 0.0, False)
    assert (last.shown.text, last.reward, last.terminated, last.success) == ("", 1.0, True, True)
    assert env.heard == ["e2e4", "d2d4"]


def test_an_environment_of_several_agents_is_refused() -> None:
    with pytest.raises(UserError, match="of 2 agents"):
        world_of(ByAgent(agents=2), name="Chess").reset(NumberedEpisode(number=0))


class NoisySource(EndlessSource):
    name = "Noisy"

    def make(self):  # type: ignore[no-untyped-def]
        return world_of(Noisy(), name="Noisy")


def test_an_environment_that_draws_without_its_seed_is_told_of() -> None:
    assert unlike_itself(EMPTY) is None
    assert "not have the bytes" in str(unlike_itself(NoisySource()))


def test_random_play_is_an_example_that_ends_where_the_episode_does() -> None:
    example = random_example(EMPTY, NumberedEpisode(number=0), max_turns=12, seed=4)
    again = random_example(EMPTY, NumberedEpisode(number=0), max_turns=12, seed=4)
    assert example == again
    assert 1 <= len(example.turns) <= 12


def test_an_episode_and_its_task_name_each_other() -> None:
    episode = NumberedEpisode(number=12, split="test")
    assert episode_of_task(episode_task("Some:thing/odd#1", episode)) == episode
    mine = Task(id="mine", family="f", question="q", answer="a", answer_kind="exact", images=())
    with pytest.raises(UserError, match="no episode"):
        episode_of_task(mine)


def test_observations_of_any_shape_are_text_and_pictures() -> None:
    upright = np.zeros((3, 20, 30), np.uint8)
    grey = np.zeros((20, 30, 1), np.uint8)
    shown = shown_from(
        {"says": "hello", "seen": upright, "more": [grey, Image.new("L", (9, 9))], "tiny": upright[:, :7]}
    )
    assert shown.text == "says: hello"
    assert [picture.size for picture in shown.pictures] == [(30, 20), (30, 20), (9, 9)]
    assert shown_from(np.arange(4)).text == "observation: [0, 1, 2, 3]"
    assert shown_from(np.zeros(1000)).text == ""
