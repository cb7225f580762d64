"""Each package of Saccade outside of its checkout: its wheel in a new environment, and its README's lines run there.

    python benchmarks/packages_alone.py --work /tmp/alone            # writes alone.json there
    python benchmarks/packages_alone.py --work /tmp/alone --packages sandbox,gym

Wheels are built from what is committed. An environment gets what a README's install lines name and nothing else; its
Python runs in an empty folder, with nothing of the checkout in reach. Sizes are of all that pip installed.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_STEP = re.compile(r"^    pip install (\"?saccade-[^\n]+)$|^```python\n(.*?)^```", re.S | re.M)
"""An install line or a block of Python of a README, in their order."""
COUNTED = """
import importlib.metadata, json
found = [one for one in importlib.metadata.distributions() if one.name not in ("pip", "setuptools")]
places = [one.locate_file(file) for one in found for file in one.files or ()]
size = sum(place.stat().st_size for place in places if place.is_file())
names = sorted(one.name for one in found)
own = [name for name in names if name.startswith("saccade")]
heavy = [name for name in names if name in ("torch", "transformers")]
print(json.dumps({"distributions": len(names), "mb": round(size / 2**20, 1), "own": own, "heavy": heavy}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="an empty folder; some 2 GB while it runs")
    parser.add_argument("--packages", help="some of them, by commas; all, and all together as `vlm`, by default")
    parser.add_argument("--python", default=sys.executable, help="the environments' interpreter; this one by default")
    given = parser.parse_args()
    work: Path = given.work.resolve()
    shutil.rmtree(work, ignore_errors=True)
    wheels = built(work)
    here = sorted(path.name for path in (ROOT / "packages").iterdir() if path.is_dir())
    found = {}
    for name in given.packages.split(",") if given.packages else [*here, "vlm"]:
        found[name] = alone(name, wheels, work, given.python)
        print(f"{name:10}", found[name], flush=True)
        (work / "alone.json").write_text(json.dumps(found, indent=1) + "\n")
    sys.exit(not all(one["runs"] for one in found.values()))


def built(work: Path) -> Path:
    """A folder of wheels, of which no two hold one file and none an ``__init__`` of the namespace."""
    source, wheels = work / "source", work / "wheels"
    source.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "x", "-C", str(source)], input=archive, check=True)
    for folder in (source, *sorted((source / "packages").iterdir())):
        build = f"import setuptools.build_meta as b; b.build_wheel({str(wheels)!r})"
        wheels.mkdir(exist_ok=True)
        subprocess.run([sys.executable, "-c", build], cwd=folder, check=True, capture_output=True)
    files = [
        name
        for wheel in wheels.glob("*.whl")
        for name in zipfile.ZipFile(wheel).namelist()
        if ".dist-info/" not in name
    ]
    if len(files) != len(set(files)) or "saccade/__init__.py" in files:
        sys.exit("two wheels hold one file, or one of them holds an __init__ of the namespace")
    print(f"{len(list(wheels.glob('*.whl')))} wheels of {len(files)} files")
    return wheels


def alone(name: str, wheels: Path, work: Path, python: str) -> dict[str, object]:
    """What an environment of one package holds, and whether the lines of its README run there."""
    environment = work / f"env-{name}"
    subprocess.run([python, "-m", "venv", str(environment)], check=True)
    inside = str(environment / "bin" / "python")
    pip = [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--find-links", str(wheels)]
    pip += ["--constraint", str(ROOT / "constraints.txt")]
    page = (ROOT / "README.md" if name == "vlm" else ROOT / "packages" / name / "README.md").read_text(encoding="utf-8")
    done = [] if name != "vlm" else [ran([*pip, "saccade-vlm"], work)]
    with tempfile.TemporaryDirectory(dir=work) as empty:
        for found in _STEP.finditer(page):
            done += [ran([*pip, *shlex.split(found[1], comments=True)], work)] if found[1] else []
            done += [ran([inside, "-c", found[2]], Path(empty))] if found[2] else []
    counted = ran([inside, "-c", COUNTED], work)
    shutil.rmtree(environment)
    failed = [one.stderr[-600:] for one in (counted, *done) if one.returncode]
    held: dict[str, object] = json.loads(counted.stdout or "{}")
    return {**held, "runs": len(done) > 1 and not failed, "said": done[-1].stdout[-300:], "failed": failed}


def ran(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=clean)


if __name__ == "__main__":
    main()
