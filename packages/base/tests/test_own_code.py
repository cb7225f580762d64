"""What a file of the user's own may have wrong is said with its line and a remedy."""

from pathlib import Path

import pytest

from saccade.errors import UserError
from saccade.own_code import module_of_file


def test_a_name_that_is_imported_from_the_bare_namespace_is_sought_in_its_modules(tmp_path: Path) -> None:
    own = tmp_path / "recipe.py"
    own.write_text("from saccade import Task\n")
    with pytest.raises(
        UserError, match=r"recipe.py:1: ImportError: .*; names are in modules of saccade: from saccade.types "
    ):
        module_of_file(own, what="recipe")
