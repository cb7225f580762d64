"""Material of strangers: what each tries to reach, and how it is made."""

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loaders import Kind
from PIL import Image

SECRET = "a secret of the user that no stranger may see"


@dataclass(frozen=True, kw_only=True, slots=True)
class Places:
    """Where decoys lie that nobody may touch, and the address that nobody may ask."""

    decoys: Path
    url: str
    sound: Path
    """A checkpoint and a run without fault, ``checkpoint`` and ``run``, which hostile ones are copies of."""

    @property
    def text(self) -> Path:
        return self.decoys / "secret.txt"

    @property
    def picture(self) -> Path:
        return self.decoys / "secret.png"

    @property
    def other_url(self) -> str:
        """An address that is not this machine's own name."""
        return self.url.replace("127.0.0.1", "127.0.0.2")

    @property
    def touch(self) -> str:
        """A shell command that shows that it ran."""
        return f"touch {self.decoys}/ran"


@dataclass(frozen=True, slots=True)
class Stranger:
    """One hostile input."""

    kind: Kind
    reaches: str
    """What it tries to reach, in words."""
    make: Callable[[Path, Places], object]
    """Fills the folder; of kind ``file`` it gives the file."""
    follows: bool = False
    """A link that is read where it leads, or a file that names folders by its purpose, as docs/strangers.md says.

    Nothing there is written, run or published.
    """


def make_decoys(folder: Path) -> None:
    """Files that a stranger may want: a text, a picture, rows, a module, a whole checkpoint's parts, a home."""
    for name in ("", "home/.ssh", "model", "run/evaluations", "recipe"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for name in ("secret.txt", "home/.ssh/id_rsa", "home/.bashrc", "home/.netrc", "recipe/module.py"):
        (folder / name).write_text(f"# {SECRET}\n# second line\n")
    rows = [{"question": SECRET, "answer": "x"}]
    (folder / "secret.json").write_text(json.dumps(rows))
    (folder / "secret.jsonl").write_text(json.dumps(rows[0]) + "\n")
    (folder / "secret.csv").write_text(f"question,answer\n{SECRET},x\n")
    Image.new("RGB", (64, 64), "red").save(folder / "secret.png")
    (folder / "evil.py").write_text("raise SystemExit('a module of a stranger ran')\n")


def edit_json(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def copied(name: str) -> Callable[[Path, Places], Path]:
    def make(folder: Path, places: Places) -> Path:
        shutil.copytree(places.sound / name, folder, dirs_exist_ok=True, symlinks=True)
        return folder

    return make


def json_changed(
    name: str, file: str, changes: Callable[[Places], Mapping[str, Any]]
) -> Callable[[Path, Places], None]:
    """A copy of something sound with other fields in one of its JSON files."""

    def make(folder: Path, places: Places) -> None:
        copied(name)(folder, places)
        edit_json(folder / file, **changes(places))

    return make


def linked(name: str, file: str, to: str) -> Callable[[Path, Places], None]:
    """A copy of something sound, one of whose files is a link to a decoy."""

    def make(folder: Path, places: Places) -> None:
        copied(name)(folder, places)
        place = folder / file
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_dir():
            shutil.rmtree(place)
        place.unlink(missing_ok=True)
        place.symlink_to(places.decoys / to)

    return make
