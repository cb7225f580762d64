"""What a session sees of the machine's files."""

from pathlib import Path

import saccade
from saccade.sandbox.libraries import covered

OWN = Path(saccade.__file__).parent


def test_saccade_beside_other_packages_is_hidden_with_them_and_else_by_itself() -> None:
    """Where it is installed among packages, their folder is closed before its own could be covered (pip, conda)."""
    packages, above = str(OWN.parent), str(OWN.parents[1])
    beside = covered([above], {packages: ["numpy"]})
    assert (beside[packages], str(OWN) in beside) == (["numpy"], False)
    assert covered([above], {})[str(OWN)] == []
    assert str(OWN) not in covered([f"{above}/elsewhere"], {})
