"""Experts replayed in the real environment with the real tools, and rewarded as a policy is."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec

from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.errors import MachineError, UserError, missing_extra
from saccade.evaluation.audit.drawn import DrawnFamily
from saccade.evaluation.audit.findings import Checked, none_of
from saccade.protocols.code_words import PYTHON_TOOL
from saccade.protocols.tagged import tagged_protocol
from saccade.tools import IMAGE_TOOLS
from saccade.tools.making import ToolBench, wished_tools
from saccade.tools.tool import EpisodeTool, Tool
from saccade.types import Example, ToolCall


def expert_finding(drawn: DrawnFamily, *, most: int) -> Checked:
    """Experts whose turns the environment or a tool refuses, or whose answer is not rewarded."""
    step = max(1, len(drawn.all) // most)
    examples = drawn.all[::step][:most]
    hits, example = [], ""
    with tools_for(examples) as tools:
        for one in examples:
            why = what_went_wrong(one, drawn, tools)
            hits.append(bool(why))
            example = example or (f"{one.task.id}: {why}" if why else "")
    calls = sum(isinstance(turn.action, ToolCall) for one in examples for turn in one.turns) / len(examples)
    note = f"{len(examples)} experts, {calls:.1f} calls each"
    return none_of("expert", hits, note=note, example=example)


@contextmanager
def tools_for(examples: Sequence[Example]) -> Iterator[tuple[Tool | EpisodeTool, ...]]:
    """The image tools, and those that the experts call of what is installed; Python runs in a sandbox."""
    called = {turn.action.name for one in examples for turn in one.turns if isinstance(turn.action, ToolCall)}
    if PYTHON_TOOL in called and find_spec("cv2") is None:
        raise missing_extra("sandbox", "cv2", needed_for="the experts' programs")
    more, bench = list[Tool | EpisodeTool](), ToolBench()
    for name in sorted(called - {tool.spec.name for tool in IMAGE_TOOLS}):
        # A call of a tool that nobody makes is refused, which is found.
        with suppress(UserError):
            more += wished_tools(name, bench)
    with ExitStack() as stack:
        for resource in bench.resources:
            stack.enter_context(resource)
        yield (*IMAGE_TOOLS, *more)


def what_went_wrong(example: Example, drawn: DrawnFamily, tools: Sequence[Tool | EpisodeTool]) -> str:
    """Why the expert is not rewarded, played turn by turn; empty where it is."""
    max_turns = len(example.turns) + 1
    env = VisualReasoningEnv(
        protocol=tagged_protocol(max_turns=max_turns),
        tools=tools,
        media=drawn.media,
        max_turns=max_turns,
        shows_pixels=False,
    )
    try:
        env.reset(options={"task": example.task})
        for number, turn in enumerate(example.turns, 1):
            try:
                _, reward, is_over, _, _ = env.step(env.write_turn(turn))
            except (UserError, MachineError) as error:
                return f"turn {number}: {error}"
            played = env.turns[-1]
            if isinstance(turn.action, ToolCall) and not (played.result and played.result.is_ok):
                shown = played.observation.text if played.observation else played.text
                return f"turn {number} was refused: {shown[:200]}"
            if is_over:
                gold = example.task.answer
                return "" if reward > 0 else f"its answer is not right: {played.text[-120:]} (gold: {gold})"
        return "it ends without an answer"
    finally:
        env.close()
