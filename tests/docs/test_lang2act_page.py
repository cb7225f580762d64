"""The page on Lang2Act: its code runs, in its order, and gives what the page says."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "lang2act.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_pages_examples_give_what_it_says() -> None:
    made: dict[str, object] = {}
    for block in BLOCKS:
        exec(block, made)
    chain, curated = made["chain"], made["curated"]
    assert (chain.error, chain.pages, chain.answer) == (None, (2,), "7.2 %")  # type: ignore[attr-defined]
    assert [call.finding for call in chain.calls] == ["7.2 %"]  # type: ignore[attr-defined]
    assert curated.toolbox.names == ("read_text",)  # type: ignore[attr-defined]
    assert [call.finding for call in curated.applications["q1"]] == ["The title reads Sales"]  # type: ignore[attr-defined]
