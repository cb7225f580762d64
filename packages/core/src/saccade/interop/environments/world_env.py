"""WorldEnv: an episode of a foreign environment as Saccade's ``Environment``."""

from collections.abc import Callable
from dataclasses import dataclass

from saccade.characters import whole_characters
from saccade.envs.environment import EnvironmentContext
from saccade.errors import MachineError, UserError
from saccade.interop.environments.actions import ActionForm, asked_form, parse_action, stop_strings, write_action
from saccade.interop.environments.world import (
    NumberedEpisode,
    StepResult,
    World,
    WorldObservation,
    WorldSource,
    episode_of_task,
)
from saccade.protocols.markup import without_role_tokens
from saccade.rewards.environment import REWARD, SUCCESS
from saccade.types import ExpertTurn, Json, Malformed, Message, Observation, Task, ToolCall, ToolResult, Turn

ACT = "act"
"""Name of the tool call that a turn's action is recorded as."""


@dataclass(frozen=True, kw_only=True)
class WorldSettings:
    """How an environment is shown to a model."""

    form: ActionForm = "thought"
    """How the model writes an action: after a thought, as a block alone, or as the whole turn."""
    rules: str = ""
    """Text before the first observation; empty for the environment's own rules and actions."""
    rules_each_turn: bool = False
    """Whether every observation repeats the actions, or the rules of an environment that does not name its actions."""
    window: int = 0
    """Observations that stay in the model's context; 0 keeps all. A new context begins when the window is full, with
    the last half of it."""
    max_picture_px: int = 0
    """The longer side of a picture, above which it is made smaller; 0 leaves it as it is."""

    def check(self) -> None:
        if self.window < 0 or self.window == 1 or self.max_picture_px < 0:
            raise UserError(
                f"window={self.window} must be 0 (all observations) or at least 2, and "
                f"max_picture_px={self.max_picture_px} must be 0 or more"
            )


class WorldEnv:
    """One episode: each turn writes one action.

    ``terminated`` is the environment's own end, ``truncated`` the limit of turns or the environment's own limit. An
    action that is none of the environment's is a turn without an effect, and the observation says so. Each turn's
    reward stands in its result's data (``REWARD``), where ``EnvironmentReward`` and the credit of turns read it.

    A world that raised is made anew and led to where it was by the actions so far; a world that then shows something
    else cannot go on: ``MachineError``.
    """

    def __init__(
        self,
        context: EnvironmentContext,
        source: WorldSource,
        settings: WorldSettings,
        on_changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._media, self._max_turns = context.media, context.max_turns
        self._source, self._settings, self._on_changed = source, settings, on_changed
        self._world: World | None = None
        self._episode = NumberedEpisode(number=0)
        self._actions: list[str] = []
        """Actions that moved the environment."""
        self._context: list[Turn] = []
        """Turns of the present context, for the window."""
        self._first = Observation(text="")
        self.prompt: tuple[Message, ...] = ()
        self.turns: tuple[Turn, ...] = ()
        self.stop = stop_strings(settings.form)

    @property
    def max_turns(self) -> int:
        return self._max_turns

    def reset(
        self, *, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[str, dict[str, object]]:
        """Begins the episode that ``options["task"]`` names; ``seed`` is not read, so that a group begins alike."""
        task = (options or {}).get("task")
        if not isinstance(task, Task):
            raise UserError("an environment's episode is named by its task; pass options={'task': episode_task(...)}")
        self._episode = episode_of_task(task)
        self.close()
        self.turns, self._actions, self._context = (), [], []
        self._first = self._observation(self._open_world().reset(self._episode))
        self.prompt = (self._opening(self._first, ()),)
        return self._first.text, {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, object]]:
        """Takes the model's turn, verbatim."""
        parsed = parse_action(action, self._settings.form)
        is_last = len(self.turns) + 1 >= self._max_turns
        result = StepResult(invalid=parsed.why) if parsed.action is None else self._act(parsed.action)
        ends = result.terminated or result.truncated or is_last
        shown = None if ends else self._next_observation(result)
        turn = Turn(
            index=len(self.turns),
            text=action,
            thought=parsed.thought,
            action=Malformed(why=result.invalid)
            if parsed.action is None
            else ToolCall(name=ACT, arguments={"action": parsed.action}),
            is_well_formed=parsed.is_well_formed,
            result=None if parsed.action is None else _tool_result(result),
            observation=shown,
        )
        self.turns = (*self.turns, turn)
        self._context.append(turn)
        truncated = (result.truncated or is_last) and not result.terminated
        return shown.text if shown else "", result.reward, result.terminated, truncated, {}

    def new_context(self) -> tuple[Message, ...] | None:
        """The opening of a new context where the window is full, else None; the last half of the window goes along."""
        window = self._settings.window
        if not window or len(self._context) < window:
            return None
        kept = self._context[len(self._context) - max(1, window // 2) :]
        self._context = kept[1:]
        opening = kept[0].observation
        assert opening is not None
        return (self._opening(opening, kept[1:]),)

    def write_turn(self, turn: ExpertTurn) -> str:
        """An expert's turn as the model should write it."""
        if not isinstance(turn.action, ToolCall) or turn.action.name != ACT:
            raise UserError(f"an expert's turn in an environment is a call of {ACT!r}, not {turn.action}")
        return write_action(turn.thought, str(turn.action.arguments["action"]), self._settings.form)

    def close(self) -> None:
        if self._world is not None:
            self._world.close()
            self._world = None

    def _open_world(self) -> World:
        if self._world is None:
            self._world = self._source.make()
        return self._world

    def _act(self, action: str) -> StepResult:
        """The result of an action; a world that was lost is led back to where it was first."""
        if self._world is None:
            self._led_back()
        try:
            result = self._open_world().step(action)
        except Exception:
            # What a foreign environment raises may have left it anywhere: it is never asked again.
            self._abandon()
            raise
        if not result.invalid:
            self._actions.append(action)
        return result

    def _led_back(self) -> None:
        first = self._observation(self._open_world().reset(self._episode))
        later = (self._later_observation(self._open_world().step(action).shown) for action in self._actions)
        shown = [first, *later]
        known = [self._first, *(turn.observation for turn in self.turns if turn.result and turn.result.is_ok)]
        if any(one is not None and _content_key(now) != _content_key(one) for now, one in zip(shown, known)):
            self._abandon()
            self._on_changed()
            raise MachineError(
                f"{self._source.name} was lost in the middle of episode {self._episode.number} and shows something "
                "else for the same actions, so it cannot be restored"
            )

    def _abandon(self) -> None:
        world, self._world = self._world, None
        if world is not None:
            try:
                world.close()
            # It is broken already; what counts is the error that broke it.
            except Exception:
                return

    def _next_observation(self, result: StepResult) -> Observation:
        if result.invalid:
            return Observation(text=f"{without_role_tokens(result.invalid)}. Nothing has happened.")
        return self._later_observation(result.shown)

    def _later_observation(self, shown: WorldObservation) -> Observation:
        """An observation after an action, with the actions, or else the rules, where each is to repeat them."""
        observation = self._observation(shown)
        if not self._settings.rules_each_turn:
            return observation
        actions = self._source.actions()
        again = f"The actions are {', '.join(actions)}." if actions else without_role_tokens(self._rules())
        return Observation(text="\n".join(filter(None, (observation.text, again))), images=observation.images)

    def _rules(self) -> str:
        return self._settings.rules or whole_characters(self._open_world().rules)

    def _observation(self, shown: WorldObservation) -> Observation:
        most = self._settings.max_picture_px
        pictures = []
        for picture in shown.pictures:
            drawn = picture
            if most and max(picture.size) > most:
                drawn = picture.copy()
                drawn.thumbnail((most, most))
            pictures.append(self._media.add(drawn))
        return Observation(text=without_role_tokens(shown.text), images=tuple(pictures))

    def _opening(self, observation: Observation, later: "list[Turn] | tuple[()]") -> Message:
        """The message that opens a context: rules, then what was shown, and the turns that are kept, in order."""
        said = without_role_tokens(f"{self._rules()} {asked_form(self._settings.form)}".strip())
        if self._actions:
            said += f" So far {len(self.turns)} turns were taken; these are the last observations."
        parts: list[str | object] = [said, *observation.images, *([observation.text] if observation.text else [])]
        for turn in later:
            shown = turn.observation
            assert shown is not None
            taken = turn.action.arguments["action"] if isinstance(turn.action, ToolCall) else "no action"
            parts += [f"Action: {taken}", *shown.images, *([shown.text] if shown.text else [])]
        return Message(role="user", parts=tuple(parts))  # type: ignore[arg-type]


def _tool_result(result: StepResult) -> ToolResult:
    data: dict[str, Json] = {REWARD: result.reward}
    if result.success is not None:
        data[SUCCESS] = result.success
    return ToolResult(text=result.invalid or result.shown.text, data=data, is_ok=not result.invalid)


def _content_key(observation: Observation) -> tuple[str, tuple[str, ...]]:
    return observation.text, tuple(image.hash for image in observation.images)
