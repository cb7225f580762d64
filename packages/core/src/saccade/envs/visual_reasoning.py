"""Questions about images, answered in turns of text that may call tools."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, TypedDict

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import EzPickle
from PIL import Image

from saccade.envs.calls import OpenedTools, ToolLatencies, in_original_pixels, run_call
from saccade.envs.environment import in_model_frame
from saccade.envs.spaces import Picture, RgbImages, TaskSource, UnicodeText, check_stored, task_source
from saccade.errors import UserError
from saccade.media.resize import ResizeRule, ViewRule
from saccade.media.store import MediaStore
from saccade.protocols.box_text import answer_to_model, answer_to_original
from saccade.protocols.coordinates import mentions_to_original
from saccade.protocols.markup import MAX_TURN_CHARS
from saccade.protocols.points import points_to_original
from saccade.protocols.protocol import ChatProtocol, ParsedTurn
from saccade.protocols.tagged import tagged_protocol
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.seeding import seed_for
from saccade.tasks.procedural import Family
from saccade.tools.images import IMAGE_TOOLS
from saccade.tools.tool import EpisodeTool, Tool, check_names, episode_of
from saccade.turn_ends import FencedActions
from saccade.types import (
    Action,
    Answer,
    ExpertTurn,
    ImageRef,
    Malformed,
    Message,
    Observation,
    Task,
    ToolCall,
    ToolResult,
    Turn,
)

DEFAULT_VIEW = ResizeRule(factor=32, min_pixels=1 << 16, max_pixels=1 << 20, convention="relative_1000")
"""Up to a megapixel, as the Qwen3-VL family sees it."""

MAX_OBSERVATION_CHARS = 1 << 20
MAX_OBSERVATION_IMAGES = 1 << 16

Status = Literal["ready", "running", "answered", "turn_limit"]
AnswerReward = Callable[[Task, str], float]


class VisualObservation(TypedDict):
    """Observation of an agent outside Saccade: the text, and the pictures at the size of the model's view."""

    text: str
    images: tuple[Picture, ...]


def answer_reward(task: Task, answer: str) -> float:
    """1.0 for a right answer, 0.0 for a wrong one."""
    return float(answer_is_right(task, answer))


class VisualReasoningEnv(gymnasium.Env[VisualObservation, str], EzPickle):
    """One episode is one task; one step is one assistant turn of at most ``max_turns``.

    An episode is a function of its task and the texts of its actions. ``terminated`` means answered, ``truncated``
    means out of turns; a call in the last turn is not run, since its result could not be seen. The reward is
    ``reward(task, answer)`` at the answer and 0.0 everywhere else.

    Tasks come from ``reset(options={"task": task})``, or are drawn at ``reset`` from ``tasks`` (a sequence, or a
    function of an index) or from a procedural ``family``: its name, ``FILE.py:NAME`` or its function. ``media`` holds
    the images of the tasks and takes those of the tools. A rollout wants neither rewards nor pixels: ``reward=None``
    scores no answer, ``shows_pixels=False`` leaves pictures out. ``latencies`` is told how long each call took.

    With ``render_mode="rgb_array"``, ``render`` gives the newest picture of the episode. A pickled environment is one
    made of the same arguments, before its first episode; Python must be able to pickle those.

    Tools with a state of their own are opened at ``reset`` and closed at the end of the episode, at the next
    ``reset`` or at ``close``, whichever comes first.

    ``step`` raises ``MachineError`` when a tool breaks or passes its deadline; the turn has then not happened, and the
    same step may be tried again.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 1}  # noqa: RUF012 - Gymnasium's own declaration

    def __init__(
        self,
        *,
        tasks: Sequence[Task] | Callable[[int], Task] | None = None,
        family: Family | None = None,
        split: str = "train",
        seed: int = 0,
        difficulty: float = 0.5,
        protocol: ChatProtocol | None = None,
        tools: Sequence[Tool | EpisodeTool] = IMAGE_TOOLS,
        media: MediaStore | None = None,
        view: ViewRule = DEFAULT_VIEW,
        max_turns: int = 6,
        reward: AnswerReward | None = answer_reward,
        shows_pixels: bool = True,
        latencies: ToolLatencies | None = None,
        render_mode: str | None = None,
    ) -> None:
        EzPickle.__init__(**locals())
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise UserError(f"render_mode={render_mode!r} is not known; use 'rgb_array' or None")
        self.render_mode = render_mode
        if media is None and family is None:
            raise UserError("no media store; pass media=, which holds the images of your tasks, or family=")
        self.media = MediaStore() if media is None else media
        self.protocol = tagged_protocol(max_turns=max_turns) if protocol is None else protocol
        _check_turns(max_turns, self.protocol)
        check_names(tools)
        self.tools = tuple(tools)
        self.view = view
        self.max_turns = max_turns
        self._source: TaskSource | None = task_source(
            tasks=tasks, family=family, split=split, seed=seed, difficulty=difficulty, media=self.media
        )
        self._seed = seed
        self._reward = reward
        self._shows_pixels = shows_pixels
        self._latencies = latencies
        self._task: Task | None = None
        self._status: Status = "ready"
        self._prompt: tuple[Message, ...] = ()
        self._turns: tuple[Turn, ...] = ()
        self._images: tuple[ImageRef, ...] = ()
        self._opened = OpenedTools(self.tools)
        self.action_space = UnicodeText(MAX_TURN_CHARS)
        # Gymnasium types every dictionary space as one of Any.
        self.observation_space = spaces.Dict(  # type: ignore[assignment]
            {
                "text": UnicodeText(MAX_OBSERVATION_CHARS),
                "images": RgbImages(MAX_OBSERVATION_IMAGES, view.largest_pixels),
            }
        )

    def __deepcopy__(self, memo: dict[int, object]) -> "VisualReasoningEnv":
        """A copy in the middle of the same episode, which what is pickled is not."""
        copied = object.__new__(type(self))
        memo[id(self)] = copied
        copied.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return copied

    @property
    def task(self) -> Task:
        """The task of this episode."""
        if self._task is None:
            raise gymnasium.error.ResetNeeded("there is no task yet; call reset() first")
        return self._task

    @property
    def prompt(self) -> tuple[Message, ...]:
        """The opening messages of this episode."""
        return self._prompt

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns since ``reset``; a step that raised added none."""
        return self._turns

    @property
    def images(self) -> tuple[ImageRef, ...]:
        """All images shown since ``reset``, in order; the model counts them from 1."""
        return self._images

    @property
    def stop(self) -> tuple[str, ...]:
        """Strings that end a turn; they belong to the action's text."""
        return self.protocol.stop

    @property
    def fenced_actions(self) -> FencedActions | None:
        """Fenced blocks that end a turn as well."""
        return self.protocol.fenced_actions

    @property
    def status(self) -> Status:
        return self._status

    def reset(
        self, *, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[VisualObservation, dict[str, object]]:
        """A new episode; an environment that was never seeded draws as its constructor's ``seed`` says."""
        if seed is None and self._np_random is None:
            seed = seed_for(self._seed, "environment")
        super().reset(seed=seed)
        task = self._chosen_task(options or {})
        check_stored(task, self.media)
        episode_seed = seed_for(self._seed, "tools", task.id)
        self._opened.open(episode_of(task, media=self.media, view=self.view, seed=episode_seed))
        self._prompt = self.protocol.prompt(task, [tool.spec for tool in self.tools], self.view)
        self._task, self._turns, self._images, self._status = task, (), task.images, "running"
        text = "\n".join(part for message in self._prompt for part in message.parts if isinstance(part, str))
        return self._observation(text, task.images), self._info()

    def step(self, action: str) -> tuple[VisualObservation, float, bool, bool, dict[str, object]]:
        """Take the model's turn, verbatim."""
        if self._status != "running":
            raise gymnasium.error.ResetNeeded(f"the episode is {self._status}; call reset() first")
        if not isinstance(action, str):
            raise UserError(f"an action is the text of a turn, not {type(action).__name__}")
        task = self.task
        parsed = self.protocol.parse(action)
        is_last = len(self._turns) + 1 >= self.max_turns
        turn = self._turn(action, parsed, is_last)
        self._turns = (*self._turns, turn)
        shown = turn.observation or Observation(text="")
        self._images = (*self._images, *shown.images)
        reward = 0.0
        if isinstance(turn.action, Answer):
            self._status = "answered"
            reward = 0.0 if self._reward is None else float(self._reward(task, turn.action.text))
        elif is_last:
            self._status = "turn_limit"
        if self._status != "running":
            self._opened.close()
        terminated, truncated = self._status == "answered", self._status == "turn_limit"
        return self._observation(shown.text, shown.images), reward, terminated, truncated, self._info()

    def write_turn(self, turn: ExpertTurn) -> str:
        """An expert's turn as the model of this episode should write it; ``UserError`` where it cannot."""
        specs = [tool.spec for tool in self.tools]
        if isinstance(turn.action, Answer):
            turn = replace(turn, action=answer_to_model(turn.action, self.task, self.view))
        return self.protocol.write(in_model_frame(turn, specs, self.task.images, self._images, self.view))

    def render(self) -> Picture | None:
        """The newest picture that was shown, at the size of the view; None without a render mode."""
        if self.render_mode is None:
            return None
        if not self._images:
            raise gymnasium.error.ResetNeeded("there is no picture yet; call reset() first")
        return self._pixels(self._images[-1])

    def close(self) -> None:
        """Closes the tools that have a state; an episode in progress cannot go on, what it did can still be read."""
        self._opened.close()
        if self._status == "running":
            self._status = "ready"

    def _chosen_task(self, options: dict[str, object]) -> Task:
        unknown = sorted(set(options) - {"task"})
        if unknown:
            raise UserError(f"reset knows no option {unknown[0]!r}; its only option is 'task'")
        if "task" in options:
            task = options["task"]
            if not isinstance(task, Task):
                raise UserError(f"options['task'] is a {type(task).__name__}; pass a saccade.Task")
            return task
        if self._source is None:
            raise UserError("there is nothing to draw a task from; pass tasks= or family=, or options={'task': task}")
        return self._source(self.np_random)

    def _turn(self, text: str, parsed: ParsedTurn, is_last: bool) -> Turn:
        action, result, observation = self._act(parsed.action, is_last)
        return Turn(
            index=len(self._turns),
            text=text,
            thought=parsed.thought,
            action=action,
            is_well_formed=parsed.is_well_formed,
            result=result,
            observation=observation,
            boxes=mentions_to_original(parsed.boxes, self.task.images, self.view),
            points=points_to_original(parsed.points, self.task.images, self.view),
        )

    def _act(self, action: Action, is_last: bool) -> tuple[Action, ToolResult | None, Observation | None]:
        """The action in original pixels, the tool's result if one ran, and what the model is shown."""
        if isinstance(action, ToolCall):
            action = in_original_pixels(action, self._opened.tools, self._images, self.view)
        if isinstance(action, Answer):
            action = answer_to_original(action, self.task, self.view)
        if is_last or isinstance(action, Answer):
            return action, None, None
        if isinstance(action, Malformed):
            return action, None, self.protocol.observe(action, len(self._images))
        outcome = run_call(action, self._opened.tools, self._images, self.media, self._latencies, view=self.view)
        return action, outcome.result, self.protocol.observe(outcome.shown, len(self._images))

    def _observation(self, text: str, images: Sequence[ImageRef]) -> VisualObservation:
        pictures = tuple(self._pixels(image) for image in images) if self._shows_pixels else ()
        return {"text": text[:MAX_OBSERVATION_CHARS], "images": pictures}

    def _pixels(self, image: ImageRef) -> Picture:
        picture = self.media.get(image)
        size = self.view.view_size(image.width, image.height)
        return np.array(picture if picture.size == size else picture.resize(size, Image.Resampling.BICUBIC))

    def _info(self) -> dict[str, object]:
        return {"task_id": self.task.id, "turns": len(self._turns), "status": self._status}


def _check_turns(max_turns: int, protocol: ChatProtocol) -> None:
    if max_turns < 1:
        raise UserError(f"max_turns={max_turns} leaves no turn to answer in; use 1 or more")
    if protocol.max_turns not in (None, max_turns):
        raise UserError(
            f"the protocol tells the model of {protocol.max_turns} turns, but the environment has "
            f"max_turns={max_turns}; use one number for both"
        )
