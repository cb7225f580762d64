"""Worlds of text alone: reasoning-gym's questions and TextArena's games for one player."""

import random
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, cast

import numpy as np
from numpy.random import mtrand

from saccade.errors import UserError, missing_extra, nearest
from saccade.interop.environments.world import EndlessSource, NumberedEpisode, Split, StepResult, WorldObservation
from saccade.seeding import seed_for

_GLOBAL_CHANCE = threading.Lock()


@dataclass(frozen=True, kw_only=True, slots=True)
class _NumpyChance:
    """What NumPy's global generator draws from: exchanging bit generators is cheaper than copying their states."""

    bits: np.random.BitGenerator
    gauss: float | None = None
    """The second of a pair of normal numbers, which NumPy keeps beside the bit generator and forgets with it."""


class _Generator(Protocol):
    def __getitem__(self, index: int) -> Mapping[str, object]: ...

    def score_answer(self, answer: str, entry: Mapping[str, object]) -> float: ...


@dataclass(frozen=True, kw_only=True)
class ReasoningGymSource(EndlessSource):
    """A generator of reasoning-gym by its name; one question is an episode of one turn."""

    name: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    """Fields of the generator's own configuration."""
    action_names: tuple[str, ...] = ()

    def make(self) -> "ReasoningGymWorld":
        return ReasoningGymWorld(self)

    def dataset(self, split: Split) -> _Generator:
        """The generator's endless data set of a split; UserError for a name or an argument that it has not."""
        try:
            import reasoning_gym
        except ImportError as error:
            raise missing_extra(
                "environments", "reasoning-gym", needed_for="an environment of reasoning-gym"
            ) from error
        known = sorted(reasoning_gym.factory.DATASETS)
        if self.name not in known:
            near = nearest(self.name, known)
            raise UserError(
                f"reasoning-gym has no generator {self.name!r}." + (f" Did you mean {near}?" if near else "")
            )
        seed = seed_for(0, "reasoning_gym", self.name, split) & 0x3FFFFFFF
        try:
            made = reasoning_gym.create_dataset(self.name, seed=seed, size=1 << 30, **self.arguments)
        except (TypeError, ValueError, AssertionError) as error:
            raise UserError(f"reasoning-gym's {self.name} refuses {dict(self.arguments)}: {error}") from error
        return cast(_Generator, made)


class ReasoningGymWorld:
    """A question and its score."""

    rules = "Answer the question. The action is the answer and nothing else."

    def __init__(self, source: ReasoningGymSource) -> None:
        self._source = source
        self._sets: dict[Split, _Generator] = {}
        self._asked: tuple[_Generator, Mapping[str, object]] | None = None

    def reset(self, episode: NumberedEpisode) -> WorldObservation:
        if episode.split not in self._sets:
            self._sets[episode.split] = self._source.dataset(episode.split)
        asked = self._sets[episode.split]
        self._asked = asked, asked[episode.number]
        return WorldObservation(text=str(self._asked[1]["question"]))

    def step(self, action: str) -> StepResult:
        assert self._asked is not None
        dataset, entry = self._asked
        reward = float(dataset.score_answer(action, entry))
        return StepResult(reward=reward, terminated=True, success=reward >= 1.0)

    def close(self) -> None: ...


@dataclass(frozen=True, kw_only=True)
class TextArenaSource(EndlessSource):
    """A game of TextArena for one player, by its id."""

    name: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    action_names: tuple[str, ...] = ()

    def make(self) -> "TextArenaWorld":
        return TextArenaWorld(self)

    @cached_property
    def game(self) -> str:
        """The id of the game without wrappers, where each observation is new and not the whole story again."""
        registry = _textarena().envs.registration.ENV_REGISTRY
        raw = f"{self.name}-raw"
        if self.name not in registry:
            near = nearest(self.name, sorted(registry))
            raise UserError(f"TextArena has no game {self.name!r}." + (f" Did you mean {near}?" if near else ""))
        return raw if raw in registry else self.name


@contextmanager
def _needed_data(game: str) -> Iterator[None]:
    """A corpus of nltk that is not there as a ``UserError`` that says how to fetch it."""
    try:
        yield
    except LookupError as error:
        resource = re.search(r"nltk\.download\('([\w.-]+)'\)", str(error))
        if resource is None:
            raise
        raise UserError(
            f"TextArena's {game} needs nltk's corpus {resource[1]!r}, which is not on this machine; fetch it: "
            f"python -m nltk.downloader {resource[1]}"
        ) from error


class TextArenaWorld:
    """One game. TextArena draws from Python's global generator: each world has a state of it of its own."""

    def __init__(self, source: TextArenaSource) -> None:
        self._source = source
        self._chance: object = None
        self._numpy_chance = _NumpyChance(bits=np.random.MT19937(0))
        self.rules = f"This is the game {source.name}."
        with self._own_chance(), _needed_data(source.name):
            self._game = _textarena().make(source.game, **source.arguments)

    def reset(self, episode: NumberedEpisode) -> WorldObservation:
        with self._own_chance():
            seed = episode.seed(self._source.name)
            random.seed(seed)
            np.random.seed(seed)
            try:
                with _needed_data(self._source.name):
                    self._game.reset(num_players=1, seed=seed)
            except (AssertionError, ValueError, TypeError) as error:
                raise UserError(f"{self._source.name} is no game for one player: {error}") from error
            return WorldObservation(text=self._game_text())

    def step(self, action: str) -> StepResult:
        said = action if "[" in action else f"[{action.strip()}]"
        with self._own_chance():
            done, _ = self._game.step(said)
            heard = self._game_text()
            if not done:
                return StepResult(shown=WorldObservation(text=heard))
            rewards, _ = self._game.close()
        reward = float(rewards[0])
        return StepResult(shown=WorldObservation(text=heard), reward=reward, terminated=True, success=reward >= 1.0)

    def close(self) -> None: ...

    def _game_text(self) -> str:
        """What the game says; what the player said stands in the turn already."""
        _, observation = self._game.get_observation()
        if isinstance(observation, str):
            return observation.strip()
        return "\n".join(text.strip() for speaker, text, _ in observation if speaker != 0)

    @contextmanager
    def _own_chance(self) -> Iterator[None]:
        with _GLOBAL_CHANCE:
            others, others_numpy = random.getstate(), _swap_numpy_chance(self._numpy_chance)
            if self._chance is not None:
                random.setstate(cast("tuple[object, ...]", self._chance))
            try:
                yield
            finally:
                self._chance, self._numpy_chance = random.getstate(), _swap_numpy_chance(others_numpy)
                random.setstate(others)


def _swap_numpy_chance(chance: _NumpyChance) -> _NumpyChance:
    """NumPy's global generator as it was; it now goes on from ``chance``."""
    state = np.random.get_state(legacy=False)
    before = _NumpyChance(bits=mtrand.get_bit_generator(), gauss=state["gauss"] if state["has_gauss"] else None)
    mtrand.set_bit_generator(chance.bits)
    if chance.gauss is not None:
        np.random.set_state({**np.random.get_state(legacy=False), "has_gauss": 1, "gauss": chance.gauss})
    return before


def _textarena() -> Any:
    try:
        import textarena
    except ImportError as error:
        raise missing_extra("environments", "textarena", needed_for="a game of TextArena") from error
    return textarena
