"""Chains to imitate, made of a curator's applications."""

from dataclasses import replace

from run_samples import attempt
from tools_samples import found

from saccade.curation.linguistic_tools import CuratedTools, chain_examples
from saccade.protocols import ChainCall, chain_thought, read_chain, toolchain_protocol
from saccade.types import Answer, Attempt, ImageRef

PAGE = ImageRef(hash="0" * 64, width=8, height=8)


def seen(one: Attempt) -> Attempt:
    return replace(one, task=replace(one.task, images=(PAGE,)))


def test_right_trajectories_are_examples_in_the_curators_words() -> None:
    attempts = [
        seen(attempt(0, "old")),
        seen(attempt(1, "reads it", thought="Image 1 has it.")),
        seen(attempt(0, "newer", thought="Image 1 alone.")),
        seen(attempt(2, "wrong", answer="8")),
        seen(attempt(3, "b is outside of the toolbox")),
        seen(attempt(4, "there is one page", thought="Image 2.")),
    ]
    sets = (*(found(number, "a") for number in (0, 1, 2)), found(3, "b"), found(4, "a"), found(5, "a"))
    curated = CuratedTools(sets=sets, k=1)
    examples = chain_examples(curated, attempts)
    calls = [ChainCall(name="a", args="", finding="x")]
    assert [(one.task.id, one.turns[0].thought, one.turns[0].action) for one in examples] == [
        ("q0", chain_thought("Image 1 alone.", calls), Answer(text="7")),
        ("q1", chain_thought("Image 1 has it.", calls), Answer(text="7")),
    ]
    text = toolchain_protocol(toolbox=curated.toolbox).write(examples[0].turns[0])
    assert read_chain(text, curated.toolbox, 1).is_valid


def test_an_application_that_no_chain_can_hold_is_left_out() -> None:
    broken = replace(found(0, "a"), calls=(ChainCall(name="a", args="<answer>", finding="x"),))
    assert chain_examples(CuratedTools(sets=(broken,), k=1), [seen(attempt(0, "reads"))]) == []
