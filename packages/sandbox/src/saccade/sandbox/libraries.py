"""Python's libraries and packages: all that a session sees of the machine's files.

Of packages these are the promised ones and what they need. What else is installed beside them, Saccade first of all,
could draw a task again and tell its answer.
"""

import logging
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import Distribution, DistributionFinder, PackageNotFoundError, PathDistribution, distribution
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from saccade.distribution import source_folders
from saccade.errors import install_command, missing_extra

_PROMISED = ("numpy", "pillow", "matplotlib", "scipy", "sympy", "pandas", "scikit-image")
_OPENCV = ("opencv-python-headless", "opencv-contrib-python-headless", "opencv-python", "opencv-contrib-python")
NEEDED = ("numpy", "PIL")
"""Modules without which there is no sandbox."""
OFFERED = (*NEEDED, "cv2", "matplotlib", "scipy", "pandas", "skimage", "sympy")
"""Modules that programs may import, where they are installed."""
Entries = dict[str, list[str]]
"""Names in folders of packages."""
logger = logging.getLogger(__name__)


@cache
def installed_libraries() -> tuple[str, ...]:
    """The modules of ``OFFERED`` that are installed."""
    return tuple(name for name in OFFERED if find_spec(name) is not None)


def require(*modules: str, needed_for: str) -> None:
    """UserError, with the command that brings them, where some of ``OFFERED`` that are needed are not installed."""
    if missing := [name for name in modules if name not in installed_libraries()]:
        raise missing_extra("sandbox", ", ".join(missing), needed_for=needed_for)


@cache
def warn_of_missing() -> None:
    """Says once in a process which modules programs will not find: their import fails as anywhere."""
    if missing := [name for name in OFFERED if name not in installed_libraries()]:
        logger.warning(
            "the sandbox has no %s, so that a program that imports one fails; to add them, run %s",
            ", ".join(missing),
            install_command("sandbox"),
        )


def package_folders() -> list[str]:
    """The folders in which this Python has its packages."""
    paths = sysconfig.get_paths()
    return list(dict.fromkeys((paths["purelib"], paths["platlib"])))


def usable_packages() -> Entries:
    """The files and folders of the packages that sessions may use; of each folder of packages, also of an empty one."""
    found: dict[str, set[str]] = {folder: set() for folder in package_folders()}
    waiting, seen = [*_PROMISED, *_OPENCV], set[str]()
    while waiting:
        name = waiting.pop()
        if _plain(name) in seen:
            continue
        seen.add(_plain(name))
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue
        for folder, entry in _entries(package):
            found.setdefault(folder, set()).add(entry)
        waiting += _needs(package)
    # Some are installed without a list of their files.
    for module in OFFERED:
        spec = find_spec(module)
        for place in (spec.submodule_search_locations or ()) if spec else ():
            found.setdefault(str(Path(place).parent), set()).add(Path(place).name)
    return {folder: sorted(entries) for folder, entries in found.items()}


def _needs(package: Distribution) -> list[str]:
    # The warm parent must not load it.
    from packaging.requirements import Requirement

    needs = [Requirement(line) for line in package.requires or ()]
    return [need.name for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]


def _entries(package: Distribution) -> set[tuple[str, str]]:
    """The top of each of its files that lies among the packages."""
    top = str(package.locate_file(""))
    files = package.files
    if files is None:
        names = (package.read_text("top_level.txt") or "").split()
        return {(top, name + end) for name in names for end in ("", ".py") if Path(top, name + end).exists()}
    # Others are scripts and manuals: elsewhere.
    return {(top, file.parts[0]) for file in files if file.parts[0] not in ("..", "__pycache__", "/")}


class _UsableFinder:
    """Finds what Python finds, but of packages the usable ones only."""

    def __init__(self, packages: Entries) -> None:
        self._packages = packages

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or path is not None or name == __name__.partition(".")[0]:
            return spec
        place = Path((spec.submodule_search_locations or [spec.origin or ""])[0])
        return spec if place.name in self._packages.get(str(place.parent), [place.name]) else None

    def find_distributions(self, context: DistributionFinder.Context) -> Iterator[Distribution]:
        for folder, entries in self._packages.items():
            for entry in entries:
                if entry.endswith((".dist-info", ".egg-info")):
                    found = PathDistribution(Path(folder, entry))
                    if context.name is None or _plain(context.name) == _plain(found.metadata["Name"]):
                        yield found


def hide_others(packages: Entries) -> None:
    """Lets this process import no packages but these, nor learn of others, until ``hide_none``."""
    sys.meta_path[:] = [_UsableFinder(packages) if finder is PathFinder else finder for finder in sys.meta_path]


def hide_none() -> None:
    """Has this process find what there is: for when nothing else is there."""
    sys.meta_path[:] = [PathFinder if isinstance(finder, _UsableFinder) else finder for finder in sys.meta_path]


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")


_SYSTEM = ("/usr/lib", "/usr/lib64", "/usr/lib32", "/lib", "/lib64", "/usr/local/lib", "/nix/store")

_PACKAGES = ("*/site-packages", "*/dist-packages", "*/*/site-packages", "site-packages", "dist-packages")
"""Places of packages, of this and of other Pythons, in a folder of libraries."""
_ALIASES = ("/lib", "/lib32", "/lib64")


def places() -> list[str]:
    """Folders, none inside another: the standard library and every loaded library's; with all that lies in them."""
    paths = sysconfig.get_paths()
    wanted = [*_SYSTEM, paths["stdlib"], paths["platstdlib"], *_of_loaded_libraries()]
    found: list[str] = []
    for place in sorted(set(wanted)):
        # /lib is a link to /usr/lib on most systems, and is made again as one.
        is_alias = place in _ALIASES and Path(place).is_symlink()
        is_inside = any(place.startswith(other + "/") for other in found)
        if Path(place).is_dir() and not is_alias and not is_inside:
            found.append(place)
    return found


def usable_entries(places: list[str], packages: Entries) -> Entries:
    """Usable entries of each folder of packages, also of those that lie in these places and hold nothing usable."""
    found: Entries = {}
    for place in places:
        for pattern in _PACKAGES:
            found |= {str(folder): [] for folder in Path(place).glob(pattern) if folder.is_dir()}
    found |= packages
    # Installed among packages it is hidden with all that is not usable there.
    for own in map(str, source_folders()):
        if _is_in(own, places) and not _is_in(own, found):
            found[own] = []
    return found


def _is_in(path: str, folders: Iterable[str]) -> bool:
    return any(path.startswith(folder + "/") for folder in folders)


def gather(folder: str, packages: Entries) -> None:
    """Makes a folder that stands for the folders of packages, and has this process import from it instead of those.

    Of what can be listed and not read an import would say that it is forbidden, not that it is not there.
    """
    Path(folder).mkdir(mode=0o755)
    for place, entries in packages.items():
        for entry in entries:
            if not Path(folder, entry).exists():
                Path(folder, entry).symlink_to(f"{place}/{entry}")
    hidden = {*(str(folder.parent) for folder in source_folders()), *packages}
    sys.path[:] = [place for place in sys.path if place not in hidden] + [folder]
    sys.path_importer_cache.clear()


def carved_folders(places: list[str], packages: Entries) -> tuple[list[str], list[str]]:
    """Folders that may be listed, and what may be read whole: in all these places, but of packages the usable ones."""
    listed: list[str] = []
    readable: list[str] = []
    real = {os.path.realpath(folder): entries for folder, entries in packages.items()}
    waiting = [os.path.realpath(place) for place in places] + list(real)
    while waiting:
        place = waiting.pop()
        if place in real:
            listed.append(place)
            readable += [f"{place}/{entry}" for entry in real[place]]
        elif any(folder.startswith(place + "/") for folder in real):
            listed.append(place)
            waiting += [entry.path for entry in os.scandir(place)]
        else:
            readable.append(place)
    return listed, readable


def _of_loaded_libraries() -> list[str]:
    folders = [str(Path(sys.base_prefix) / "lib")] if sys.base_prefix not in ("/usr", "/") else []
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return folders
    for line in lines:
        path = line.partition("/")[2]
        if ".so" in path:
            folders.append("/" + path.rpartition("/")[0])
    return [folder for folder in folders if folder not in ("/", "/usr", "")]
