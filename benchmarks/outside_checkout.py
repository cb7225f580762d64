"""The package outside of its checkout: wheel and sdist in a fresh environment, each extra installed alone and imported.

    python benchmarks/outside_checkout.py --work /tmp/packaging            # writes packaging.json there
    python benchmarks/outside_checkout.py --work /tmp/packaging --extras lora,mcp --demo none

The first environment has the wheel without extras; ``saccade demo`` runs there, in an empty folder, with nothing of the
checkout in reach. Each extra is then added to a copy of it. Processor seconds are of the command and its children.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOT_ALONE = ("dev",)
IMPORTED = {
    "cluster": ("ray", "saccade.train.fleet_ray"),
    "contamination": ("imagehash", "saccade.evaluation.contamination"),
    "datasets": ("datasets", "saccade.tasks.rows.tables"),
    "docs": ("mkdocs", "material", "mkdocstrings", "mkdocs_click"),
    "environments": ("minigrid", "nltk", "reasoning_gym", "textarena", "saccade.interop.environments.text_worlds"),
    "geometry": ("sympy", "saccade.readers.geometry.symbolic"),
    "gym": ("matplotlib", "pygal", "typst", "vl_convert", "saccade.gym"),
    "harness": ("openpyxl", "saccade.evaluation.exports.vlmevalkit"),
    "inspect": ("inspect_ai", "saccade.evaluation.exports.inspect_log"),
    "lance": ("lancedb", "saccade.retrieval.lance"),
    "llama-index": ("llama_index.core", "saccade.interop.llama_index"),
    "lora": ("peft", "saccade.models.lora"),
    "math": ("math_verify", "saccade.evaluation.second_verdicts"),
    "mcp": ("fastmcp", "saccade.interop.mcp.server"),
    "mlflow": ("mlflow", "saccade.runs.trackers.mlflow"),
    "ocr": ("rapidocr", "onnxruntime", "saccade.readers.text.rapid"),
    "openenv": ("openenv", "saccade.interop.openenv.server"),
    "ray": ("ray.serve", "saccade.interop.ray_serve"),
    "retrieval": ("pypdfium2", "saccade.retrieval.pdf"),
    "sandbox": ("matplotlib", "cv2", "pandas", "skimage", "scipy", "sympy", "saccade.sandbox"),
    "sentence": ("sentence_transformers", "saccade.vision_models.sentence_encoders"),
    "services": ("fastapi", "prometheus_client", "uvicorn", "saccade.services.http.server"),
    "trackio": ("trackio", "saccade.runs.trackers.trackio"),
    "trl": ("trl", "saccade.interop.trl"),
    "video": ("av", "saccade.media.video"),
    "view": ("starlette", "httptools", "uvicorn", "saccade.viewer.app.server"),
    "wandb": ("wandb", "saccade.runs.trackers.wandb"),
}
"""What each extra brings, and a module of Saccade that needs it."""
KEPT = {"inspect": ("torch", "transformers")}
"""Pins of the lock file that are kept for an extra whose packages need other versions; all of them for the others."""
DROPPED = {"trackio": ("pillow",)}
"""Pins that an extra's packages contradict."""


@dataclass(frozen=True, kw_only=True)
class Done:
    """A command that was run to its end."""

    name: str
    ok: bool
    processor_s: float
    last_lines: str = ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="an empty folder; some 3 GB while it runs")
    parser.add_argument("--extras", help='some of them, by commas; all by default, "" for none')
    parser.add_argument("--python", default=sys.executable, help="the environments' interpreter; this one by default")
    parser.add_argument("--demo", choices=["whole", "short", "none"], default="whole")
    given = parser.parse_args()
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    extras = [one for one in declared if one not in NOT_ALONE]
    if given.extras is not None:
        extras = [one for one in given.extras.split(",") if one]
    if missing := set(extras) - set(IMPORTED):
        sys.exit(f"no module is known for the extras {', '.join(sorted(missing))}; add them to IMPORTED")
    work: Path = given.work.resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    steps = [*built(work)]
    wheel, sdist = next((work / "dist").glob("*.whl")), next((work / "dist").glob("*.tar.gz"))
    base = work / "base"
    version = subprocess.run([given.python, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    steps += fresh(base, wheel, given.python)
    steps += outside(base, work / "empty", given.demo)
    steps += from_sdist(base, work / "sdist", sdist)
    for extra in (None, *extras):
        steps += added(base, work / f"extra-{extra}", wheel, extra) if extra else []
        written = {"python": version, "files_in_wheel": len(zipfile.ZipFile(wheel).namelist())}
        (work / "packaging.json").write_text(
            json.dumps({**written, "steps": [asdict(one) for one in steps]}, indent=1) + "\n"
        )
    failed = [one.name for one in steps if not one.ok]
    print(f"{len(steps) - len(failed)} of {len(steps)} steps are good{': not ' + ', '.join(failed) if failed else ''}")


def built(work: Path) -> list[Done]:
    """Wheel and sdist of what is committed: files that git does not know are not in them."""
    source = work / "source"
    source.mkdir()
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "x", "-C", str(source)], input=archive, check=True)
    build = "import setuptools.build_meta as b, sys; d = sys.argv[1]; b.build_wheel(d); b.build_sdist(d)"
    (work / "dist").mkdir()
    return [ran("build wheel and sdist", [sys.executable, "-c", build, str(work / "dist")], source)]


def fresh(base: Path, wheel: Path, python: str) -> list[Done]:
    subprocess.run([python, "-m", "venv", str(base)], check=True)
    return [ran("install the wheel without extras", [*pip(base), str(wheel)], base)]


def outside(base: Path, folder: Path, demo: str) -> list[Done]:
    folder.mkdir()
    python = str(base / "bin" / "python")
    found = [
        ran("import", [python, "-c", f"import saccade, sys; sys.exit({str(ROOT)!r} in saccade.__file__)"], folder),
        ran("saccade recipes", [str(base / "bin" / "saccade"), "recipes"], folder),
    ]
    short = (
        "sft.steps=4",
        "rl.steps=2",
        "no_tool_tasks=0",
        "rl.tasks_per_step=1",
        "rl.group_size=2",
        "evaluation_tasks=4",
        "curve_tasks=2",
    )
    if demo != "none":
        words = [word for one in (short if demo == "short" else ()) for word in ("--set", one)]
        command = [str(base / "bin" / "saccade"), "demo", "--out", "runs/demo", "--quiet", *words]
        found.append(ran(f"saccade demo ({demo})", command, folder))
    return found


def from_sdist(base: Path, copy: Path, sdist: Path) -> list[Done]:
    """The sdist in a copy of the environment: it builds there, and has the wheel's files."""
    copied(base, copy)
    subprocess.run([*pip(copy)[:3], "uninstall", "--yes", "--quiet", "saccade-vlm"], check=True)
    installed = ran("install the sdist", [*pip(copy), "--no-deps", str(sdist)], copy)
    same = (
        "import saccade, hashlib, pathlib as p; r = p.Path(saccade.__file__).parent; "
        "print(sorted((str(f.relative_to(r)), hashlib.sha256(f.read_bytes()).hexdigest()) "
        "for f in r.rglob('*') if f.is_file() and '__pycache__' not in str(f)))"
    )
    texts = [
        subprocess.run([str(one / "bin" / "python"), "-c", same], capture_output=True, text=True, cwd=copy).stdout
        for one in (base, copy)
    ]
    shutil.rmtree(copy)
    equal = bool(texts[0]) and texts[0] == texts[1]
    return [installed, Done(name="sdist and wheel install the same files", ok=equal, processor_s=0.0)]


def added(base: Path, copy: Path, wheel: Path, extra: str) -> list[Done]:
    copied(base, copy)
    locked = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    constraints = copy / "constraints.txt"
    pins = {line.partition("==")[0]: line for line in locked}
    kept = set(KEPT.get(extra, pins)) - set(DROPPED.get(extra, ()))
    constraints.write_text("".join(f"{line}\n" for name, line in pins.items() if name in kept))
    installed = ran(f"install [{extra}]", [*pip(copy, constraints), f"saccade-vlm[{extra}] @ {wheel.as_uri()}"], copy)
    code = f"import importlib\nfor name in {IMPORTED[extra]!r}: importlib.import_module(name)"
    imported = ran(f"import [{extra}]", [str(copy / "bin" / "python"), "-c", code], copy)
    shutil.rmtree(copy)
    return [installed, imported]


def copied(base: Path, copy: Path) -> None:
    """A copy by hard links; pip replaces files and never writes into one."""
    subprocess.run(["cp", "-al", str(base), str(copy)], check=True)


def pip(environment: Path, constraints: Path = ROOT / "constraints.txt") -> list[str]:
    python = str(environment / "bin" / "python")
    quiet = ["--quiet", "--disable-pip-version-check", "--no-input"]
    return [python, "-m", "pip", "install", *quiet, "--constraint", str(constraints)]


def ran(name: str, command: Sequence[str], folder: Path) -> Done:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=clean)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    said = "" if done.returncode == 0 else (done.stderr or done.stdout).strip()[-1500:]
    print(f"{'ok  ' if done.returncode == 0 else 'FAIL'} {spent:7.1f} s  {name}  {said}", flush=True)
    return Done(name=name, ok=done.returncode == 0, processor_s=round(spent, 1), last_lines=said)


if __name__ == "__main__":
    main()
