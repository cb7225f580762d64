"""Folders of the tests that a change can break, by the graph of the packages: ``python -m tests.changed [REVISION]``.

A change in a package is tested by its tests and by those of the packages that need it; ``tests`` goes over all of them.
"""

import subprocess
import sys
from collections.abc import Iterable

from tests.packages import dependencies
from tests.places import ROOT


def folders_to_test(changed: Iterable[str]) -> list[str]:
    """Of changed paths below the repository; all folders where one belongs to no package, its pages aside."""
    touched, needed_by = set(), dependencies()
    for path in changed:
        top, _, rest = path.partition("/")
        if top == "packages":
            touched.add(rest.partition("/")[0])
        elif top not in ("docs", "studies", "benchmarks", "examples", "tests"):
            touched |= needed_by.keys()
    above = {name for name, needs in needed_by.items() if name in touched or needs & touched}
    return ["tests", *(f"packages/{name}/tests" for name in sorted(above))]


def main() -> None:
    base = sys.argv[1] if len(sys.argv) > 1 else "main"
    command = ["git", "diff", "--name-only", "--merge-base", base]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    print(*folders_to_test(names))


if __name__ == "__main__":
    main()
