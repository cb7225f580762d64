"""The verifier, or an environment, as a package of its own: copies of the modules of Saccade that it is made of.

Those of the verifier need numpy alone, those of the environment Pillow and Gymnasium too. The package carries a hash of
its content in its name, so that exports of different versions stand beside each other in one process, and Saccade need
not be installed where a trainer runs.
"""

import ast
import hashlib
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from saccade.atomic import disk_errors, write_bytes_atomic
from saccade.distribution import __version__, source_folders

VERIFIER = ("saccade.interop.exports.verifier",)
ENVIRONMENT = ("saccade.interop.exports.packed",)
NEEDS = ("numpy",)
"""All that the copies of the verifier import beside Python's own library."""
ENVIRONMENT_NEEDS = ("numpy", "pillow", "gymnasium>=1.1")

_IMPORT = re.compile(r"^(\s*(?:from|import) )saccade(?=[.\s])", re.MULTILINE)
_FACE = '''"""The verifier of questions exported by Saccade {version} (Apache-2.0): copies of its modules."""

from {name}.interop.exports.verifier import ReplyVerdict, score, score_bare, verdict

__all__ = ["ReplyVerdict", "score", "score_bare", "verdict"]
'''


def bundle_name(entries: tuple[str, ...] = VERIFIER) -> str:
    """The name of the package: what it is, and eight digits of its content's hash."""
    return f"saccade_{'verifier' if entries == VERIFIER else 'environment'}_{bundle_hash(entries)[:8]}"


@cache
def bundle_hash(entries: tuple[str, ...] = VERIFIER) -> str:
    """SHA-256 of all modules of the package."""
    digest = hashlib.sha256()
    for module, source in sorted(_modules(entries).items()):
        digest.update(f"{module}\0{source}\0".encode())
    return digest.hexdigest()


def write_bundle(folder: Path, *, within: str = "", entries: tuple[str, ...] = VERIFIER) -> str:
    """Writes the package of the entries, and of all that they import, into the folder; the name that imports it.

    ``within`` is the package that the folder is, where it is one.
    """
    name = bundle_name(entries)
    prefix = f"{within}.{name}" if within else name
    place = folder / name
    for module, source in _modules(entries).items():
        path = place.joinpath(*module.split(".")[1:]).with_suffix(".py")
        for parent in path.parents:
            if parent == folder:
                break
            with disk_errors(parent):
                parent.mkdir(parents=True, exist_ok=True)
            (parent / "__init__.py").touch()
        write_bytes_atomic(path, _IMPORT.sub(rf"\g<1>{prefix}", source).encode())
    write_bytes_atomic(place / "__init__.py", _FACE.format(version=__version__, name=prefix).encode())
    write_bytes_atomic(place / "LICENSE.txt", b"Apache License 2.0: https://www.apache.org/licenses/LICENSE-2.0\n")
    return prefix


@cache
def _modules(entries: tuple[str, ...]) -> Mapping[str, str]:
    """The sources of the entries and of all modules of Saccade's that they import, by name."""
    found: dict[str, str] = {}
    waiting = [*entries]
    while waiting:
        module = waiting.pop()
        if module in found:
            continue
        name = f"{module.partition('.')[2].replace('.', '/')}.py"
        file = next(path for folder in source_folders() if (path := folder / name).is_file())
        found[module] = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(found[module])):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("saccade."):
                waiting.append(node.module)
    return found
