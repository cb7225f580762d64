"""Probes: the same questions with something taken away, which tell whether a model looks and whether a tool matters.

=================  ====================================================================================================
probe              what is changed
=================  ====================================================================================================
blank              every picture is a grey one of its size
other-image        the pictures are those of another question
withheld-results   tools run; pictures that they gave are shown grey, at their size, and words as "it has run"
shuffled           the options stand in another order, by the seed
cycled             each question is asked once for each rotation of its options
no-question        the options stand there without the question
=================  ====================================================================================================

A model that looks falls to chance on a blank picture; one whose tools matter, without their results; one that reads
the options is as good in any order. A question that a probe cannot change is left out of it and counted.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import cycle, islice
from typing import Literal, get_args

from PIL import Image

from saccade.envs.environment import Environment, EnvironmentContext, EnvironmentFactory
from saccade.envs.wrapped import WrappedEnvironment
from saccade.errors import UserError
from saccade.evaluation.samples import default_cluster
from saccade.interleaving import in_order, places_of
from saccade.media.store import MediaStore
from saccade.protocols.protocol import ChatProtocol
from saccade.rewards.answers.rules import options_named
from saccade.rollout.episodes import EpisodeSpec
from saccade.seeding import seed_for
from saccade.types import ImageRef, Json, Observation, Task, ToolResult, Turn

ProbeName = Literal["blank", "other-image", "withheld-results", "shuffled", "cycled", "no-question"]

PROBES: tuple[ProbeName, ...] = get_args(ProbeName)
GREY = (128, 128, 128)
WITHHELD = "The tool has run. Its result is not shown."
BARE_QUESTION = "Which of these options is right?"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """Questions as a probe asks them."""

    name: ProbeName
    tasks: tuple[Task, ...]
    episodes: EpisodeSpec
    clusters: Mapping[str, str]
    """Cluster of each task by its id: that of the question that it was made of."""
    left_out: int
    """Questions that the probe cannot change."""
    asked: Mapping[str, Json] = field(default_factory=dict)
    """What tells this way of asking apart, beside the probe's name."""

    def cluster(self, task: Task) -> str:
        return self.clusters.get(task.id, task.id)


def probe(
    name: ProbeName,
    tasks: Sequence[Task],
    episodes: EpisodeSpec,
    *,
    media: MediaStore,
    seed: int,
    cluster: Callable[[Task], str] = default_cluster,
) -> Probe:
    """The questions and episodes of a probe; pictures that it makes are added to ``media``.

    UserError where no question can be changed by it.
    """
    if name == "withheld-results":
        if not episodes.protocol.offers_tools:
            raise UserError(f"--probe {name}: {episodes.protocol.name} offers no tools whose results could be withheld")
        make_env = partial(withheld_results, protocol=episodes.protocol, inner=episodes.make_env)
        kept = {task.id: cluster(task) for task in tasks}
        shown = replace(episodes, make_env=make_env)
        asked: dict[str, Json] = {"withheld": "grey pictures"}
        return Probe(name=name, tasks=tuple(tasks), episodes=shown, clusters=kept, left_out=0, asked=asked)
    changed: list[Task] = []
    clusters: dict[str, str] = {}
    left_out = 0
    others = _other_pictures(tasks, seed) if name == "other-image" else {}
    for task in tasks:
        found = _probe_tasks(name, task, media=media, seed=seed, others=others)
        left_out += not found
        changed += found
        clusters |= {one.id: cluster(task) for one in found}
    if not changed:
        raise UserError(f"--probe {name} can change none of the {len(tasks)} questions: {_NEEDS[name]}")
    return Probe(name=name, tasks=tuple(changed), episodes=episodes, clusters=clusters, left_out=left_out)


_NEEDS: Mapping[ProbeName, str] = {
    "blank": "they have no pictures",
    "other-image": "they have no pictures, or all the same",
    "shuffled": "they have no options of their own, or name them within the question",
    "cycled": "they have no options of their own, or name them within the question",
    "no-question": "they have no options of their own, or name them within the question",
    "withheld-results": "no tools are offered",
}


def _probe_tasks(
    name: ProbeName, task: Task, *, media: MediaStore, seed: int, others: Mapping[str, tuple[ImageRef, ...]]
) -> list[Task]:
    match name:
        case "blank":
            return [replace(task, images=tuple(blank(image, media) for image in task.images))] if task.images else []
        case "other-image":
            return [replace(task, images=others[task.id])] if task.id in others else []
        case "shuffled":
            order = list(range(len(task.choices)))
            random.Random(seed_for(seed, "shuffled options", task.id)).shuffle(order)
            return [reordered(task, order)] if has_free_options(task) else []
        case "cycled":
            return cycles(task) if has_free_options(task) else []
        case "no-question":
            bare = places_of(task.question) + BARE_QUESTION if task.is_interleaved else BARE_QUESTION
            return [replace(task, question=bare, wordings={})] if has_free_options(task) else []
        case "withheld-results":
            raise AssertionError("changes the environment, not the question")


def blank(image: ImageRef, media: MediaStore) -> ImageRef:
    """A grey picture of the same size."""
    return media.add(Image.new("RGB", (image.width, image.height), GREY))


def has_free_options(task: Task) -> bool:
    """Whether the options are the protocol's to write: more than one, and not all named within the question."""
    right = options_named(task.answer, task.choices)
    return len(task.choices) > 1 and len(right) == 1 and task.lists_options(task.question)


def reordered(task: Task, order: Sequence[int], *, suffix: str = "") -> Task:
    """The task with its options in this order (of their old places), its answer by its new letter."""
    [right] = options_named(task.answer, task.choices)
    answer = LETTERS[list(order).index(right)]
    choices = tuple(task.choices[place] for place in order)
    return in_order(replace(task, id=f"{task.id}{suffix}", choices=choices, answer=answer, accepted=()))


def cycles(task: Task) -> list[Task]:
    """The task once for each rotation of its options, as ``ID#cycle0``, ``ID#cycle1``, ..."""
    count = len(task.choices)
    return [
        reordered(task, [(place + shift) % count for place in range(count)], suffix=f"#cycle{shift}")
        for shift in range(count)
    ]


def _other_pictures(tasks: Sequence[Task], seed: int) -> dict[str, tuple[ImageRef, ...]]:
    """For each task the pictures of the next one that has others, in an order by the seed."""
    order = [task for task in tasks if task.images]
    random.Random(seed_for(seed, "other pictures")).shuffle(order)
    found: dict[str, tuple[ImageRef, ...]] = {}
    for place, task in enumerate(order):
        following = (order[(place + step) % len(order)] for step in range(1, len(order)))
        other = next((one.images for one in following if one.images != task.images), None)
        if other is not None:
            # Each place inside the words has a picture, whatever the other question has.
            found[task.id] = tuple(islice(cycle(other), len(task.images))) if task.is_interleaved else other
    return found


def withheld_results(
    context: EnvironmentContext, *, protocol: ChatProtocol, inner: EnvironmentFactory
) -> "WithheldResults":
    """An environment in which tools run and the model is not shown what they gave."""
    return WithheldResults(inner(context), protocol, context.media)


class WithheldResults(WrappedEnvironment):
    """An environment whose observations after a tool's run keep their form and lose their content.

    A picture is a grey one of its size, so that what follows has the tokens and the image numbers of an ordinary
    episode; a text is ``WITHHELD``. A policy that was never trained on a sentence in place of a picture would not
    answer at all, and its accuracy would say nothing of what it knows without the result.
    """

    def __init__(self, env: Environment, protocol: ChatProtocol, media: MediaStore) -> None:
        super().__init__(env)
        self._protocol = protocol
        self._media = media
        self._given = 0
        self._greys: dict[tuple[int, int], ImageRef] = {}

    @property
    def turns(self) -> tuple[Turn, ...]:
        turns: list[Turn] = []
        shown = self._given
        for turn in self.env.turns:
            seen = turn.observation
            turns.append(
                turn if seen is None else replace(turn, observation=self._withheld_observation(turn, seen, shown))
            )
            shown += 0 if seen is None else len(seen.images)
        return tuple(turns)

    def reset(
        self, *, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[object, dict[str, object]]:
        task = (options or {}).get("task")
        self._given = len(task.images) if isinstance(task, Task) else 0
        return super().reset(seed=seed, options=options)

    def _withheld_observation(self, turn: Turn, seen: Observation, images_before: int) -> Observation:
        if turn.result is None:
            return seen
        text = WITHHELD if turn.result.text or not seen.images else ""
        # A run of code is known to its protocol by this key; why it failed would be a result too.
        form: dict[str, Json] = {"error_kind": None} if "error_kind" in turn.result.data else {}
        images = tuple(self._grey(image) for image in seen.images)
        return self._protocol.observe(ToolResult(text=text, images=images, data=form), images_before)

    def _grey(self, image: ImageRef) -> ImageRef:
        size = image.width, image.height
        if size not in self._greys:
            self._greys[size] = blank(image, self._media)
        return self._greys[size]
