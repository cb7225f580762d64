"""An expert's turns played through the environment, as a trajectory to imitate."""

from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.errors import UserError
from saccade.models.chat import Chat
from saccade.protocols.box_text import thought_to_model
from saccade.protocols.coordinates import call_to_model
from saccade.types import Example, ExpertTurn, Segment, ToolCall, Trajectory


def demonstrate(
    example: Example, *, env: VisualReasoningEnv, chat: Chat, stream: str = "expert", may_fail: bool = False
) -> Trajectory:
    """The expert's turns written by the environment's protocol, with what the tools really answered.

    Action segments end with the end-of-turn token, so that the imitator learns to stop. Raises UserError when a turn
    is refused by the environment or its tool, or the last one is no answer: a demonstration must follow its own rules.
    With ``may_fail`` a tool that ran may have failed: the expert shows how to go on.
    """
    env.reset(options={"task": example.task})
    prompt = chat.prompt(env.prompt)
    segments = [Segment(role="prompt", turn=0, ids=prompt.ids, images=prompt.images)]
    is_over = False
    for index, turn in enumerate(example.turns):
        if is_over:
            raise UserError(f"the expert of {example.task.id} goes on after the episode has ended")
        text = env.protocol.write(_in_model_frame(turn, env))
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


def _in_model_frame(turn: ExpertTurn, env: VisualReasoningEnv) -> ExpertTurn:
    thought = thought_to_model(turn.thought, env.task.images, env.view)
    if not isinstance(turn.action, ToolCall):
        return ExpertTurn(thought=thought, action=turn.action)
    spec = next((tool.spec for tool in env.tools if tool.spec.name == turn.action.name), None)
    if spec is None:
        raise UserError(f"the expert calls {turn.action.name!r}, which the environment does not offer")
    return ExpertTurn(thought=thought, action=call_to_model(turn.action, spec, env.images, env.view))
