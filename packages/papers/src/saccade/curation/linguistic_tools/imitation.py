"""Chains to imitate: right trajectories with their steps as the curator rewrote them.

An addition to the paper, for a policy that cannot follow a prompt it was never shown: the curator's own applications
teach it the form before the second reinforcement.
"""

from collections.abc import Iterable

from saccade.curation.linguistic_tools.curated import CuratedTools
from saccade.curation.linguistic_tools.trajectories import newest_right
from saccade.errors import UserError
from saccade.protocols.described import described_parts
from saccade.protocols.toolchain import chain_thought, read_chain, toolchain_protocol
from saccade.types import Answer, Attempt, Example, ExpertTurn


def chain_examples(curated: CuratedTools, attempts: Iterable[Attempt]) -> list[Example]:
    """Examples of valid chains with tools of the toolbox alone, in the order of the curation.

    ``attempts`` are those that ``right_trajectories`` took the trajectories from. Each example has the trajectory's own
    thought on pages and its answer; one whose chain is not valid on its question's images is left out.
    """
    toolbox, found = curated.toolbox, newest_right(attempts)
    protocol = toolchain_protocol(toolbox=toolbox)
    examples = []
    for name, calls in curated.applications.items():
        attempt = found.get(name)
        if attempt is None or attempt.trajectory.answer is None:
            continue
        think, _ = described_parts(attempt.trajectory.turns[-1].thought)
        turn = ExpertTurn(thought=chain_thought(think, calls), action=Answer(text=attempt.trajectory.answer))
        try:
            text = protocol.write(turn)
        except UserError:
            continue
        if read_chain(text, toolbox, len(attempt.task.images)).is_valid:
            examples.append(Example(task=attempt.task, turns=(turn,)))
    return examples
