"""The recipes on the pages are those that run, and short enough to be read there."""

import pytest
from recipes_shown import PAGES, ROOT, shown


@pytest.mark.parametrize("page", PAGES)
def test_the_page_shows_its_recipe_whole(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert text == shown(page), "run python tests/docs/recipes_shown.py"
    source = (ROOT / PAGES[page]).read_text(encoding="utf-8")
    assert source in text
    assert source.count("\n") < 100
