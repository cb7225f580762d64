"""The page "Add a package": its three files are installed by pip outside of the repository, and its commands run.

The page is ``docs/add/package.md``.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from code_blocks import ROOT, python_of

from warm import run_warm

PAGE = (ROOT / "docs" / "add" / "package.md").read_text(encoding="utf-8")
[PROJECT] = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)
[COMMANDS] = re.findall(r"```bash\n(.*?)```", PAGE, flags=re.DOTALL)
TRAINED, SHOWN = python_of("add/package.md")
SMALL = (
    "--quiet --set sft.steps=1 --set sft.batch_size=1 --set rl.steps=1 --set rl.tasks_per_step=2 --set rl.group_size=2 "
    "--set evaluation_tasks=1 --set rl.evaluate_every=0"
)
MODEL = "runs/brevity/checkpoints/rl-000001"


@dataclass(frozen=True)
class Place:
    """A folder of a stranger's, with packages below ``lib``."""

    root: Path
    packages: tuple[str, ...] = ("lib",)

    def saccade(self, command: str) -> subprocess.CompletedProcess[str]:
        """``saccade COMMAND``, with Saccade where it lies and the packages on the path."""
        path = [str(self.root / name) for name in self.packages]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*path, os.environ.get("PYTHONPATH", "")])}
        return run_warm([sys.executable, "-m", "saccade", *shlex.split(command)], cwd=self.root, env=environment)

    def done(self, command: str) -> str:
        """What the command prints; it must not fail."""
        result = self.saccade(command)
        assert result.returncode == 0, result.stderr
        return result.stdout

    def refusal(self, command: str) -> str:
        """The one sentence with which the command fails."""
        result = self.saccade(command)
        assert result.returncode == 2, (result.returncode, result.stderr)
        assert "Traceback" not in result.stderr
        return result.stderr

    def change(self, old: str, new: str, package: str = "lib") -> None:
        file = self.root / package / "my_paper.py"
        file.write_text(file.read_text().replace(old, new))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """The package of the page, installed; its commands were given, with fewer steps."""
    root = tmp_path_factory.mktemp("stranger")
    folder = root / "my_paper"
    folder.mkdir()
    for name, text in {"pyproject.toml": PROJECT, "my_paper.py": TRAINED, "length_of_answers.py": SHOWN}.items():
        (folder / name).write_text(text)
    install, *commands = COMMANDS.replace("--set sft.steps=100", SMALL).replace("rl-000040", "rl-000001").splitlines()
    offline = ("--quiet", "--no-build-isolation", "--no-deps", "--no-cache-dir", "--disable-pip-version-check")
    pip = [sys.executable, "-m", *shlex.split(install), *offline, "--target", "lib"]
    subprocess.run(pip, cwd=root, check=True)
    place = Place(root)
    for command in commands:
        count = " -n 2 --quiet" if " eval " in command else ""
        printed = place.done(command.removeprefix("saccade ") + count)
        (root / f"{shlex.split(command)[1]}.txt").write_text(printed)
    return place


@pytest.fixture
def place(trained: Place, tmp_path: Path) -> Place:
    """A copy whose files a test may change."""
    shutil.copytree(trained.root, tmp_path, dirs_exist_ok=True)
    return Place(tmp_path)


def test_lists_terminal_report_and_settings_show_what_the_package_brings(trained: Place) -> None:
    printed = {name: (trained.root / f"{name}.txt").read_text() for name in ("families", "recipes", "train", "eval")}
    assert printed["families"] == "specks: A speck on grey, and which colour it has.\n    package my-paper\n"
    assert "brevity Learns where to look for specks, in few words. (package my-paper)" in " ".join(
        printed["recipes"].split()
    )
    assert re.findall(r"^(\w+): .*% right.*\n(?:  evidence: .*\n)?  answers: ", printed["train"], re.M) == [
        "before",
        "after_sft",
        "after_rl",
    ]
    assert "  answers: " in printed["eval"]
    for run in ("brevity", "measured"):
        report = (trained.root / "runs" / run / "report.html").read_text()
        assert "<h2>Praise for " in report
        assert "answers: " in report
    assert 'families = ["specks"]' in trained.done("settings brevity")
    terms = json.loads((trained.root / "runs/brevity/settings.json").read_text())["inputs"]
    assert (terms["recipe"], terms["recipe_package"], terms["family_specks_package"]) == ("brevity", *2 * ("my-paper",))


def test_a_missing_package_is_named_and_a_changed_one_is_refused_when_a_run_goes_on(place: Place) -> None:
    again = f"train brevity {SMALL} --out runs/brevity --resume"
    measured = f"eval --model {MODEL} --family specks --reward brief --out runs/measured -n 2 --quiet"
    assert "Report: " in place.done(again)
    place.change("/ 200", "/ 100")
    for command, key in ((again, "recipe"), (f"{measured} --resume", "inputs.reward_sha256")):
        assert f"--accept-change {key}" in place.refusal(command)
    gone = Place(place.root, packages=())
    for command, what in ((again, "there is no recipe 'brevity'"), (f"{measured} --resume", "no reward")):
        told = gone.refusal(command)
        assert what in told
        assert told.endswith("; the run was started with the package my-paper, which is not installed here\n")
    assert "my-paper" not in gone.refusal(f"train brevity {SMALL} --out runs/other")
    assert "Praise" not in gone.done("report runs/brevity") + (place.root / "runs/brevity/report.html").read_text()


def test_a_package_that_raises_is_named_and_all_else_works(place: Place) -> None:
    place.change("def draw_specks", "raise SystemExit(3)\ndef draw_specks")
    reason = "cannot be imported: SystemExit: 3; update or uninstall my-paper"
    of_family = f"eval --model {MODEL} --family specks --out runs/b"
    for command in ("train brevity --out runs/a", of_family, "settings brevity"):
        told = place.refusal(command)
        assert reason in told, command
        assert len(told.splitlines()) == 1
    for command in ("families specks", "families", "recipes"):
        assert reason in " ".join(place.done(command).split())
    assert "Praise for" in place.done("report runs/brevity") + (place.root / "runs/brevity/report.html").read_text()


def test_a_name_of_two_packages_is_neithers_and_a_package_installed_twice_is_the_first(place: Place) -> None:
    shutil.copytree(place.root / "lib", place.root / "twice")
    place.change("A speck on grey", "Another speck", package="twice")
    assert "A speck on grey" in Place(place.root, packages=("lib", "twice")).done("families specks")
    assert "Another speck" in Place(place.root, packages=("twice", "lib")).done("families specks")
    metadata = next((place.root / "twice").glob("*.dist-info"))
    metadata.rename(metadata.with_name("other_paper-1.0.dist-info"))
    (place.root / "twice/other_paper-1.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: other-paper\n")
    both = Place(place.root, packages=("lib", "twice"))
    told = "several packages offer {} for {}: my-paper, other-paper; uninstall all but one"
    assert told.format("'specks'", "saccade.families") in both.done("families specks")
    assert told.format("'brevity'", "saccade.recipes") in both.refusal("train brevity --out runs/a")
    assert told.format("'brevity'", "saccade.recipes") in both.done("recipes --json")
