"""The recipes that the pages show whole; ``python tests/docs/recipes_shown.py`` writes them into the pages anew."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]

PAGES = {
    "docs/argos.md": "src/saccade/recipes/argos.py",
    "docs/conversations.md": "src/saccade/recipes/sft.py",
    "docs/codedance.md": "src/saccade/recipes/codedance.py",
    "docs/demo.md": "src/saccade/miniature/demo.py",
    "docs/ivgr.md": "src/saccade/recipes/ivgr.py",
    "docs/lang2act.md": "src/saccade/recipes/lang2act.py",
    "docs/questions.md": "src/saccade/recipes/questions.py",
    "docs/vista_r1.md": "src/saccade/recipes/vista_r1.py",
}
"""Page to recipe."""


def shown(page: str) -> str:
    """The page as it should be: its block below the recipe's name holds the recipe's source."""
    source = PAGES[page]
    text = (ROOT / page).read_text(encoding="utf-8")
    code = (ROOT / source).read_text(encoding="utf-8").rstrip("\n")
    block = re.compile(rf"(?<=`{re.escape(source)}`:\n\n)```python\n.*?```", re.DOTALL)
    return block.sub(lambda _: f"```python\n{code}\n```", text)


if __name__ == "__main__":
    for page in PAGES:
        (ROOT / page).write_text(shown(page), encoding="utf-8")
