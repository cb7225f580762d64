"""Which installed packages sessions may use: the promised ones and what these need, nothing else of an environment.

What else is installed beside them, Saccade first of all, could draw a task again and tell its answer.
"""

import re
import sysconfig
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

_PROMISED = ("numpy", "pillow", "matplotlib", "scipy", "sympy", "pandas", "scikit-image")
_OPENCV = ("opencv-python-headless", "opencv-contrib-python-headless", "opencv-python", "opencv-contrib-python")
_MODULES = ("numpy", "PIL", "cv2", "matplotlib", "scipy", "sympy", "pandas", "skimage")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

Entries = dict[str, list[str]]
"""Names in folders of packages."""


def folders() -> list[str]:
    """Where this Python has its packages."""
    paths = sysconfig.get_paths()
    return list(dict.fromkeys((paths["purelib"], paths["platlib"])))


def usable() -> Entries:
    """The files and folders of the packages that sessions may use; of each folder of packages, also of an empty one."""
    found: dict[str, set[str]] = {folder: set() for folder in folders()}
    waiting, seen = [*_PROMISED, *_OPENCV], set[str]()
    while waiting:
        name = waiting.pop()
        if name.lower().replace("_", "-") in seen:
            continue
        seen.add(name.lower().replace("_", "-"))
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue
        for folder, entry in _entries(package):
            found.setdefault(folder, set()).add(entry)
        waiting += _needs(package)
    # Some are installed without a list of their files.
    for module in _MODULES:
        spec = find_spec(module)
        for place in (spec.submodule_search_locations or ()) if spec else ():
            found.setdefault(str(Path(place).parent), set()).add(Path(place).name)
    return {folder: sorted(entries) for folder, entries in found.items()}


def _needs(package: Distribution) -> list[str]:
    lines = [line for line in package.requires or () if "extra ==" not in line]
    return [match.group() for line in lines if (match := _NAME.match(line))]


def _entries(package: Distribution) -> set[tuple[str, str]]:
    """The top of each of its files that lies among the packages."""
    top = str(package.locate_file(""))
    files = package.files
    if files is None:
        names = (package.read_text("top_level.txt") or "").split()
        return {(top, name + end) for name in names for end in ("", ".py") if Path(top, name + end).exists()}
    # Others are scripts and manuals: elsewhere.
    return {(top, file.parts[0]) for file in files if file.parts[0] not in ("..", "__pycache__", "/")}
