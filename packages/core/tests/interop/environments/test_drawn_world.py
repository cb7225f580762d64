"""Interactive families as worlds: experts reach every goal, splits share nothing, and nothing but the goal pays."""

import numpy as np
import pytest

from saccade.envs import EnvironmentContext
from saccade.errors import UserError
from saccade.interop.environments import NumberedEpisode, WorldEnv, WorldNames, WorldSettings, episode_task, source_of
from saccade.interop.environments.drawn_world import DrawnSource
from saccade.interop.environments.looking import look_interaction
from saccade.interop.environments.play import expert_example
from saccade.media import MediaStore
from saccade.media.store import image_hash
from saccade.protocols import direct_protocol
from saccade.rewards.environment import EnvironmentReward
from saccade.tasks.family_names import INTERACTIVE
from saccade.testing import TINY_VIEW

NAMES = (*INTERACTIVE, "look/counting", "look/fine_letters")


@pytest.mark.parametrize("name", NAMES)
def test_the_expert_earns_one_in_every_episode(name: str) -> None:
    source = source_of(WorldNames(env=f"gym:{name}", arguments={"difficulty": 0.3}))
    assert isinstance(source, DrawnSource)
    for number in range(4):
        episode, world = NumberedEpisode(number=number, split="test"), source.make()
        first = world.reset(episode)
        results = [world.step(move.action) for move in source.demonstration(episode, 60)]
        assert results[-1].success
        assert results[-1].terminated
        assert sum(one.reward for one in results) == pytest.approx(1)
        assert all(not one.invalid and not one.terminated for one in results[:-1])
        again = source.make().reset(episode)
        assert (again.text, image_hash(again.pictures[0])) == (first.text, image_hash(first.pictures[0]))


@pytest.mark.parametrize("name", INTERACTIVE)
def test_no_beginning_is_in_two_splits_and_hardly_one_comes_twice(name: str) -> None:
    source = DrawnSource(name=name, difficulty=0.0)
    shown = {
        split: {
            interaction.split_key
            for interaction in (source.interaction(NumberedEpisode(number=number, split=split)) for number in range(24))
        }
        for split in ("train", "test")
    }
    assert not shown["train"] & shown["test"]
    assert min(map(len, shown.values())) >= 23


def test_what_is_undone_is_taken_back() -> None:
    """A policy that switches an option on and off, or turns pages to and fro, ends with what it began with."""
    source = DrawnSource(name="fill_form", difficulty=0.5)
    for number in range(20):
        episode, world = NumberedEpisode(number=number), source.make()
        moves = source.demonstration(episode, 60)
        ticks = [move.action for move in moves if move.thought.endswith("is to be on") and "click" in move.action]
        if ticks:
            break
    world.reset(episode)
    tick = ticks[0]
    earned = []
    for move in moves:
        if move.action == tick:
            earned = [world.step(tick).reward for _ in range(4)]
            break
        world.step(move.action)
    assert earned[0] > 0
    assert sum(earned) == pytest.approx(0)


def test_pressing_the_button_at_once_or_any_other_one_fails() -> None:
    source = DrawnSource(name="fill_form", difficulty=0.2)
    for number in range(6):
        episode = NumberedEpisode(number=number)
        *before, last = source.demonstration(episode, 60)
        wrong = source.make()
        wrong.reset(episode)
        scrolls = [move.action for move in before if move.action.startswith("scroll")]
        results = [wrong.step(action) for action in (*scrolls, last.action)]
        assert not results[-1].success
        assert sum(one.reward for one in results) < 0.5


def test_ticking_everything_earns_nothing() -> None:
    source = DrawnSource(name="work_list", difficulty=0.5)
    for number in range(30):
        interaction = source.interaction(NumberedEpisode(number=number))
        if "Tick all entries" in interaction.goal:
            break
    every = {one["Name"] for one in interaction.entries}  # type: ignore[attr-defined]
    interaction.ticked = every  # type: ignore[attr-defined]
    assert interaction.progress() == 0


@pytest.mark.parametrize("name", INTERACTIVE)
def test_the_expert_goes_on_from_wherever_a_policy_left_off(name: str) -> None:
    source = DrawnSource(name=name, difficulty=0.4)
    rng = np.random.default_rng(0)
    for number in range(3):
        interaction = source.interaction(NumberedEpisode(number=number))
        for _ in range(12):
            action = f"click {rng.integers(1000)} {rng.integers(250)}"
            wild = {
                "slide_tiles": f"slide {rng.integers(1, 100)}",
                "colour_graph": f"paint {'ABCDEFGH'[rng.integers(8)]} red",
            }
            if interaction.act(wild.get(name, action)).is_over:
                break
        else:
            outcome = None
            for _ in range(80):
                outcome = interaction.act(interaction.next_move().action)
                if outcome.is_over:
                    break
            assert outcome is not None
            assert outcome.is_success


@pytest.mark.parametrize(
    ("action", "why"),
    [
        ("dance", "is no action"),
        ("click here", "two numbers"),
        ("click 5000 10", "two numbers"),
        ("click 10 10 20 20", "two numbers"),
        ("scroll sideways", "scrolled by"),
        ("type " + "x" * 201, "characters"),
    ],
)
def test_what_is_no_action_moves_nothing(action: str, why: str) -> None:
    interaction = DrawnSource(name="fill_form").interaction(NumberedEpisode(number=0))
    before = image_hash(interaction.picture())
    assert why in interaction.act(action).invalid
    assert image_hash(interaction.picture()) == before


def test_a_window_shows_a_part_of_the_picture_and_its_answer_counts_once() -> None:
    interaction = look_interaction("fine_letters", "train", 0, 0.5)
    whole = interaction.picture()
    interaction.act("zoom in 250, 250")
    near = interaction.picture()
    assert near.size == whole.size
    assert image_hash(near) != image_hash(whole)
    for _ in range(20):
        interaction.act("zoom in 500 500")
    assert "narrow" in interaction.act("zoom in 500 500").said
    assert interaction.window.width >= 16
    for _ in range(9):
        interaction.act("zoom out")
    assert image_hash(interaction.picture()) == image_hash(whole)
    wrong = interaction.act("answer nothing of the kind")
    assert wrong.is_over
    assert not wrong.is_success


def test_an_expert_is_imitated_and_scored_through_the_environment() -> None:
    source = DrawnSource(name="colour_graph?clutter=0", difficulty=0.5)
    example = expert_example(source, NumberedEpisode(number=3), max_turns=20)
    context = EnvironmentContext(media=MediaStore(), view=TINY_VIEW, protocol=direct_protocol(), max_turns=20)
    env = WorldEnv(context, source, WorldSettings(form="thought"))
    env.reset(options={"task": example.task})
    for turn in example.turns:
        *_, terminated, _, _ = env.step(env.write_turn(turn))
    assert terminated
    assert "paint LETTER COLOUR" in str(env.prompt[0].parts[0])
    assert all(turn.is_well_formed for turn in env.turns)
    assert example.task == episode_task(source.name, NumberedEpisode(number=3))
    assert EnvironmentReward().weight == 1


@pytest.mark.parametrize(
    ("name", "arguments", "why"),
    [
        ("fil_form", {}, "Did you mean gym:fill_form"),
        ("fill_form?colour=1", {}, "no option"),
        ("fill_form?clutter=2", {}, "from 0 to 1"),
        ("fill_form", {"difficulty": 2}, "from 0 to 1"),
        ("fill_form", {"size": 3}, "difficulty"),
        ("look/nothing", {}, "no task family"),
    ],
)
def test_names_that_mean_nothing_are_refused(name: str, arguments: dict[str, int], why: str) -> None:
    with pytest.raises(UserError, match=why):
        source_of(WorldNames(env=f"gym:{name}", arguments=arguments))


def test_answers_that_are_places_cannot_be_given_through_a_window() -> None:
    with pytest.raises(UserError, match="answer in words"):
        look_interaction("screen_clicks", "train", 0, 0.5)


@pytest.mark.parametrize("name", NAMES)
def test_a_caption_follows_what_is_done_and_stands_beside_or_instead_of_the_picture(name: str) -> None:
    both = source_of(WorldNames(env=f"gym:{name}", arguments={"caption": True}))
    words = source_of(WorldNames(env=f"gym:{name}", arguments={"caption": True}, pictures="none"))
    assert isinstance(both, DrawnSource)
    episode = NumberedEpisode(number=2)
    worlds = [both.make(), words.make()]
    first, alone = (world.reset(episode) for world in worlds)
    assert first.text == alone.text
    assert (len(first.pictures), len(alone.pictures)) == (1, 0)
    changed = False
    for move in both.demonstration(episode, 60):
        results = [world.step(move.action) for world in worlds]
        assert results[0].shown.text == results[1].shown.text
        changed = changed or results[0].shown.text not in first.text
    assert changed
    assert results[1].success


def test_the_caption_of_a_form_tells_what_is_in_sight_alone() -> None:
    source = DrawnSource(name="fill_form", difficulty=1.0)
    interaction = source.interaction(NumberedEpisode(number=5))
    seen = interaction.caption()
    for _ in range(20):
        interaction.act("scroll down")
    assert interaction.caption() != seen
    assert any(line not in seen for line in interaction.caption().splitlines())


def test_an_expert_that_is_cut_short_says_so(caplog: pytest.LogCaptureFixture) -> None:
    source = DrawnSource(name="fill_form?size=0.5", difficulty=1.0)
    assert len(source.demonstration(NumberedEpisode(number=0), 60)) > 3
    assert not caplog.records
    assert len(source.demonstration(NumberedEpisode(number=0), 3)) == 3
    assert "raise max_turns" in caplog.text
