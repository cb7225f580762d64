"""Where Python and its libraries lie: all that a session sees of the machine's files."""

import os
import sys
import sysconfig
from pathlib import Path

from saccade.sandbox.packages import Entries

_SYSTEM = ("/usr/lib", "/usr/lib64", "/usr/lib32", "/lib", "/lib64", "/usr/local/lib", "/nix/store")

_PACKAGES = ("*/site-packages", "*/dist-packages", "*/*/site-packages", "site-packages", "dist-packages")
"""Where packages of this and of other Pythons lie in a folder of libraries."""
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


def covered(places: list[str], packages: Entries) -> Entries:
    """What sessions may use of each folder of packages, also of those that lie in these places and hold nothing."""
    found: Entries = {}
    for place in places:
        for pattern in _PACKAGES:
            found |= {str(folder): [] for folder in Path(place).glob(pattern) if folder.is_dir()}
    own = str(Path(__file__).parents[1])
    if any(own.startswith(place + "/") for place in places):
        found[own] = []
    return found | packages


def gather(folder: str, packages: Entries) -> None:
    """Makes a folder that stands for the folders of packages, and has this process import from it instead of those.

    Of what can be listed and not read an import would say that it is forbidden, not that it is not there.
    """
    Path(folder).mkdir(mode=0o755)
    for place, entries in packages.items():
        for entry in entries:
            if not Path(folder, entry).exists():
                Path(folder, entry).symlink_to(f"{place}/{entry}")
    hidden = {str(Path(__file__).parents[2]), *packages}
    sys.path[:] = [place for place in sys.path if place not in hidden] + [folder]
    sys.path_importer_cache.clear()


def carved(places: list[str], packages: Entries) -> tuple[list[str], list[str]]:
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
