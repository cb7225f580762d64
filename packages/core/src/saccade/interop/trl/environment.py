"""Our tasks and tools as an environment of TRL's ``GRPOTrainer``: its ``environment_factory``, rows and reward.

    factory = environment_class(tasks, media=media, view=view)
    GRPOTrainer(
        model=...,
        environment_factory=factory,
        reward_funcs=answer_score,
        train_dataset=Dataset.from_list(rows(tasks, view=view)),
        ...
    )

TRL calls ``reset`` with the row that is asked, and the tools as methods. It takes pictures in tool results, in the tool
role and for models that see; its chat template must show them there. What it does not take from us: the reason why a
rollout ended, turns without a call as mistakes to be told of (they end the rollout), and a tool's failure as other than
a text to the model. So a rollout in which a tool broke is marked, and ``answer_score`` leaves it without a score,
which TRL (1.16) keeps out of its group's mean and its gradient.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from PIL import Image

from saccade.envs.calls import CallOutcome, OpenedTools, in_original_pixels, run_call
from saccade.envs.visual_reasoning import DEFAULT_VIEW, AnswerReward, answer_reward
from saccade.errors import MachineError, ToolError, UserError
from saccade.interop.trl.tool_methods import tool_method
from saccade.media.resize import ViewRule
from saccade.media.store import MediaStore
from saccade.protocols.examples import ANSWER_EXAMPLE
from saccade.protocols.instructions import ANSWER, coordinates, observation, question_parts, question_text
from saccade.protocols.tagged import parse
from saccade.seeding import seed_for
from saccade.tools.images import IMAGE_TOOLS
from saccade.tools.tool import EpisodeTool, Tool, check_names, episode_of
from saccade.types import Answer, ImageRef, Json, Task, ToolCall, ToolResult

Block = dict[str, object]
"""A part of a message, as chat templates take it: ``type`` is ``text`` or ``image``, which is also the other key."""

TRIES = 2
"""Attempts at a call whose tool breaks."""

_RESERVED = ("reset", "get_reward")
"""Names that TRL itself looks for in the class."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Settings:
    tasks: Mapping[str, Task]
    media: MediaStore
    tools: tuple[Tool | EpisodeTool, ...]
    view: ViewRule
    reward: AnswerReward
    shows_images: bool
    seed: int


class TrlEnvironment:
    """One rollout at a time; TRL makes an object for each that runs at once and resets it again and again.

    Every public method but ``reset`` is a tool, so all else is a property.
    """

    _settings: ClassVar[_Settings]

    def __init__(self) -> None:
        self._opened = OpenedTools(self._settings.tools)
        self._media = MediaStore()
        self._task: Task | None = None
        self._images: tuple[ImageRef, ...] = ()
        self._results: tuple[ToolResult, ...] = ()
        self._failure = ""

    def reset(self, **row: object) -> list[Block] | str:
        """Begins the task that the row names; its pictures and its question, to stand at the end of the prompt."""
        settings = self._settings
        task = settings.tasks.get(str(row.get("task")))
        if task is None:
            raise UserError(f"the row's task={row.get('task')!r} is none of the environment's; make rows by rows()")
        # A store of its own, so that what tools draw is forgotten with the rollout.
        self._media = MediaStore()
        for image in task.images:
            self._media.add(settings.media.get(image))
        seed = seed_for(settings.seed, "tools", task.id)
        self._opened.open(episode_of(task, media=self._media, view=settings.view, seed=seed))
        self._task, self._images, self._results, self._failure = task, task.images, (), ""
        if not settings.shows_images:
            return question_text(task, "full", view=settings.view).strip()
        return [self._block(part) for part in question_parts(task, "full", view=settings.view)]

    @property
    def task(self) -> Task:
        """The task of this rollout."""
        if self._task is None:
            raise UserError("the environment has no task yet; TRL resets it before a rollout")
        return self._task

    @property
    def images(self) -> tuple[ImageRef, ...]:
        """All pictures shown in this rollout, in order."""
        return self._images

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """Results of the tools, refused calls too."""
        return self._results

    @property
    def failure(self) -> str:
        """The failure of the machine; empty while nothing broke."""
        return self._failure

    def _call(self, name: str, arguments: Mapping[str, Json]) -> list[Block] | str:
        """The blocks shown to the model; ``ToolError`` with its words when the call is refused, which TRL counts."""
        call = ToolCall(name=name, arguments=arguments)
        outcome = self._outcome(call)
        shown = outcome.shown
        self._results = (*self._results, shown)
        before = len(self._images)
        if not shown.is_ok:
            raise ToolError(observation(ToolResult(text=shown.text), before, style="full").text)
        self._images = (*self._images, *shown.images)
        told = observation(shown, before, style="full")
        if not self._settings.shows_images or not told.images:
            return told.text or "done"
        return [*(self._block(image) for image in told.images), self._block(told.text)]

    def _outcome(self, call: ToolCall) -> CallOutcome:
        tools = self._opened.tools
        call = in_original_pixels(call, tools, self._images, self._settings.view)
        for left in range(TRIES - 1, -1, -1):
            try:
                return run_call(call, tools, self._images, self._media, view=self._settings.view)
            except MachineError as error:
                if left == 0:
                    self._failure = str(error)
                    raise ToolError(f"the tool {call.name} does not work just now") from error
        raise AssertionError("the last try returns or raises")

    def _end(self) -> None:
        self._opened.close()

    def _block(self, part: str | ImageRef) -> Block:
        if isinstance(part, str):
            return {"type": "text", "text": part}
        picture = self._media.get(part)
        size = self._settings.view.view_size(part.width, part.height)
        seen = picture if picture.size == size else picture.resize(size, Image.Resampling.BICUBIC)
        return {"type": "image", "image": seen}


def environment_class(
    tasks: Sequence[Task],
    *,
    media: MediaStore,
    tools: Sequence[Tool | EpisodeTool] = IMAGE_TOOLS,
    view: ViewRule = DEFAULT_VIEW,
    reward: AnswerReward = answer_reward,
    shows_images: bool = True,
    seed: int = 0,
    name: str = "SaccadeEnvironment",
) -> type[TrlEnvironment]:
    """The class for ``GRPOTrainer(environment_factory=...)``, with a typed method for each of ``tools``.

    ``media`` holds the pictures of ``tasks``. ``view`` must be how the model's processor resizes pictures, for the
    model writes coordinates in that frame. With ``shows_images=False`` a model that cannot see gets the texts alone.
    """
    if not tasks:
        raise UserError("tasks is empty; pass at least one task")
    check_names(tools)
    by_id = {task.id: task for task in tasks}
    if len(by_id) < len(tasks):
        raise UserError("two tasks have the same id; rows name tasks by it")
    settings = _Settings(
        tasks=by_id, media=media, tools=tuple(tools), view=view, reward=reward, shows_images=shows_images, seed=seed
    )
    members: dict[str, object] = {"_settings": settings, "__doc__": "Questions about images, with tools."}
    for tool in tools:
        if tool.spec.name in _RESERVED or tool.spec.name.startswith("_") or hasattr(TrlEnvironment, tool.spec.name):
            raise UserError(f"TRL or the environment needs the name {tool.spec.name} for itself; rename the tool")
        members[tool.spec.name] = tool_method(tool.spec, TrlEnvironment._call)
    return type(name, (TrlEnvironment,), members)


def rows(
    tasks: Sequence[Task], *, view: ViewRule = DEFAULT_VIEW, system: str | None = None, environment: str | None = None
) -> list[dict[str, object]]:
    """Rows for ``Dataset.from_list``: the instructions, and which task ``reset`` is to show after them.

    ``environment`` is their environment's name where ``environment_factory`` is a dictionary of several.
    """
    instructions = _instructions(view) if system is None else system
    prompt = [{"role": "system", "content": instructions}, {"role": "user", "content": ""}]
    named = {} if environment is None else {"environment": environment}
    return [{"prompt": prompt, "task": task.id, **named} for task in tasks]


def answer_score(
    completions: Sequence[Sequence[Mapping[str, object]]], environments: Sequence[TrlEnvironment], **_: object
) -> list[float | None]:
    """A reward function for ``GRPOTrainer``: the environment's reward of each rollout's ``<answer>``.

    0.0 without an answer; None, which TRL leaves out of the group, where a tool broke.
    """
    scores: list[float | None] = []
    for completion, environment in zip(completions, environments, strict=True):
        # The rollout is over: what its tools hold is given back.
        environment._end()
        answer = _answer(completion)
        if environment.failure:
            scores.append(None)
        elif answer is None:
            scores.append(0.0)
        else:
            scores.append(environment._settings.reward(environment.task, answer))
    return scores


def _answer(completion: Sequence[Mapping[str, object]]) -> str | None:
    """The answer of the last message, if it is the model's and answers."""
    last = completion[-1] if completion else {}
    content = last.get("content")
    if last.get("role") != "assistant" or not isinstance(content, str):
        return None
    action = parse(content, offers_tools=False).action
    return action.text if isinstance(action, Answer) else None


def _instructions(view: ViewRule) -> str:
    return "\n\n".join(
        [
            "You answer questions about images. Details may be too small to make out at first sight: use the tools to "
            "look closer before you answer. Images are numbered from 1 in the order in which you see them, and a "
            'tool\'s images go on counting; without "image" a tool works on image 1.',
            coordinates(view),
            f"# Answer\nFinish with {ANSWER_EXAMPLE}. {ANSWER}",
        ]
    )
