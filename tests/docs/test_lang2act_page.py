"""The page on Lang2Act: its code runs, in its order, and gives what the page says."""

from code_blocks import python_of


def test_the_pages_examples_give_what_it_says() -> None:
    made: dict[str, object] = {}
    for block in python_of("lang2act.md"):
        exec(block, made)
    chain, curated = made["chain"], made["curated"]
    assert (chain.error, chain.pages, chain.answer) == (None, (2,), "7.2 %")  # type: ignore[attr-defined]
    assert [call.finding for call in chain.calls] == ["7.2 %"]  # type: ignore[attr-defined]
    assert curated.toolbox.names == ("read_text",)  # type: ignore[attr-defined]
    assert [call.finding for call in curated.applications["q1"]] == ["The title reads Sales"]  # type: ignore[attr-defined]
