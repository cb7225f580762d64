"""An expert's turns played through the environment, as a trajectory to imitate."""

from saccade.envs.environment import Environment, ExpertEnvironment
from saccade.errors import UserError
from saccade.models.chat import Chat
from saccade.types import Example, Segment, ToolCall, Trajectory


def demonstrate(
    example: Example, *, env: Environment, chat: Chat, stream: str = "expert", may_fail: bool = False
) -> Trajectory:
    """The expert's turns as the environment writes them, with what the tools really answered.

    Action segments end with the end-of-turn token, so that the imitator learns to stop. Raises UserError when a turn
    is refused by the environment or its tool, or the last one is no answer: a demonstration must follow its own rules.
    With ``may_fail`` a tool that ran may have failed: the expert shows how to go on.
    """
    expert_env = for_experts(env)
    env.reset(options={"task": example.task})
    prompt = chat.prompt(env.prompt)
    segments = [Segment(role="prompt", turn=0, ids=prompt.ids, images=prompt.images)]
    is_over = False
    for index, turn in enumerate(example.turns):
        if is_over:
            raise UserError(f"the expert of {example.task.id} goes on after the episode has ended")
        text = expert_env.write_turn(turn)
        segments.append(Segment(role="action", turn=index, ids=(*chat.encode(text), chat.eos_id)))
        _, _, terminated, truncated, _ = env.step(text)
        is_over = terminated or truncated
        played = env.turns[-1]
        result = played.result
        is_refused = isinstance(turn.action, ToolCall) and (result is None or not (result.is_ok or may_fail))
        if is_refused or not played.is_well_formed:
            shown = played.observation.text if played.observation else played.text
            raise UserError(f"the expert's turn {index + 1} of {example.task.id} was refused: {shown}")
        if played.observation is not None and not is_over:
            tokens = chat.observation(played.observation, ends_with_eos=True)
            segments.append(Segment(role="observation", turn=index, ids=tokens.ids, images=tokens.images))
    if not is_over:
        raise UserError(f"the expert of {example.task.id} ends without an answer")
    return Trajectory(
        task_id=example.task.id,
        family=example.task.family,
        stream=stream,
        sample=0,
        seed=0,
        policy_version=0,
        segments=tuple(segments),
        turns=env.turns,
        status="answered" if terminated else "turn_limit",
    )


def for_experts(env: Environment) -> ExpertEnvironment:
    """The environment, if an expert can be played in it; UserError that says what it lacks."""
    if not isinstance(env, ExpertEnvironment):
        raise UserError(
            f"nothing can be imitated in {type(env).__name__}, which cannot write an expert's turns; give it a method "
            "write_turn(turn: ExpertTurn) -> str, or leave the imitation out"
        )
    return env
