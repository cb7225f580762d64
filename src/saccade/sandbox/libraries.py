"""Where Python and its libraries lie: all that a session sees of the machine's files."""

import sys
import sysconfig
from pathlib import Path

_SYSTEM = ("/usr/lib", "/usr/lib64", "/usr/lib32", "/lib", "/lib64", "/usr/local/lib", "/nix/store")

_ALIASES = ("/lib", "/lib32", "/lib64")


def places(packages: list[str]) -> list[str]:
    """Folders, none inside another: the standard library, these folders of packages, and every loaded library's."""
    paths = sysconfig.get_paths()
    wanted = [*_SYSTEM, paths["stdlib"], paths["platstdlib"], *packages, *_of_loaded_libraries()]
    found: list[str] = []
    for place in sorted(set(wanted)):
        # /lib is a link to /usr/lib on most systems, and is made again as one.
        is_alias = place in _ALIASES and Path(place).is_symlink()
        is_inside = any(place.startswith(other + "/") for other in found)
        if Path(place).is_dir() and not is_alias and not is_inside:
            found.append(place)
    return found


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
