"""Whether ``saccade index`` that is killed again and again ends with the bytes of one left alone.

    python benchmarks/index_kills.py --kills 12 --json docs/results/index_kills.json

Drawn pages by an encoder that was taught for a few steps. A build is killed with kill -9 when a number of pages, drawn
at random, has been encoded since its start, or while it starts; the same command goes on. Exit status 1 where any byte
differs.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

from saccade.media import MediaStore
from saccade.miniature.page_encoder import EncoderLessons, taught_page_encoder
from saccade.miniature.pages import PageQuestions
from saccade.tasks.families.pages import mark_side

STARTING_SHARE = 0.2
"""Kills while the program still starts."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--documents", type=int, default=40, help="Of twelve pages each.")
    parser.add_argument("--seed", type=int, default=0, help="Chooses the moments.")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        taught_page_encoder(folder / "encoder", EncoderLessons(steps=5), seed=0)
        draw(folder / "documents", arguments.documents)
        build(folder, "calm").communicate()
        killed = starts = 0
        while True:
            starts += 1
            process = build(folder, "killed")
            if killed < arguments.kills and kills(process, arguments.documents * 12, chance):
                killed += 1
                continue
            process.communicate()
            if process.returncode:
                sys.exit(f"the build ended with {process.returncode}")
            break
        ours, theirs = contents(folder / "calm"), contents(folder / "killed")
    different = sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))
    row = {"pages": arguments.documents * 12, "kills": killed, "starts": starts, "files": len(ours)}
    print(json.dumps(row | {"different": different}))
    if arguments.json:
        command = "python benchmarks/index_kills.py " + " ".join(sys.argv[1:])
        head = {"command": command, "date": date.today().isoformat()}
        arguments.json.write_text(json.dumps(head | row | {"different": different}, indent=1) + "\n")
    sys.exit(bool(different))


def draw(folder: Path, documents: int) -> None:
    drawn = PageQuestions(seed=0, media=MediaStore(), documents=documents)
    for place in range(documents):
        document = drawn.document("train", place)
        (folder / document.name).mkdir(parents=True)
        for page in range(len(document.pages)):
            document.picture(page, mark_side(0.5)).save(folder / document.name / f"{page + 1}.png")


def build(folder: Path, name: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-u", "-m", "saccade", "index", str(folder / "documents")]
    command += ["--encoder", str(folder / "encoder"), "--out", str(folder / name)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def kills(process: "subprocess.Popen[str]", pages: int, chance: random.Random) -> bool:
    """Whether the process was killed before it ended by itself."""
    assert process.stdout is not None
    if chance.random() < STARTING_SHARE:
        time.sleep(3 * chance.random())
    else:
        wanted = chance.randint(1, pages // 4)
        seen = 0
        while seen < wanted and (line := process.stdout.readline()):
            seen += ", page " in line
        time.sleep(0.05 * chance.random())
    if process.poll() is not None:
        return False
    process.kill()
    process.communicate()
    return True


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


if __name__ == "__main__":
    main()
