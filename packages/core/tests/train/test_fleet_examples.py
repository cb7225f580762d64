"""The layouts in ``examples/fleet``: their settings exist and pass, and what is a script or a manifest can be read."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from PIL import Image

from places import ROOT
from published_models import config_of
from saccade.cli import run_command
from saccade.config.context import RecipeContext
from saccade.config.engine import split_engine
from saccade.config.fleet import FleetSettings, split_overrides
from saccade.config.settings import apply_overrides
from saccade.models import base_checkpoint
from saccade.recipes.questions_settings import QuestionsSettings
from saccade.train.engine_choice import plan_of
from saccade.train.recipe_loading import load_recipe

FOLDER = ROOT / "examples" / "fleet"
LAYOUTS = {
    "one_gpu.sh": FleetSettings(),
    "eight_gpus_vllm.sh": FleetSettings(learners=4, learner_gpus=1),
    "eight_gpus.sh": FleetSettings(learners=4, rollouts=4, learner_gpus=1, rollout_gpus=1),
    "eight_machines.sbatch": FleetSettings(learners=32, rollouts=32, learner_gpus=1, rollout_gpus=1),
    "kuberay.yaml": FleetSettings(learners=32, rollouts=32, learner_gpus=1, rollout_gpus=1),
}


def overrides_of(name: str) -> list[str]:
    return re.findall(r"--set (\S+)", (FOLDER / name).read_text().replace('"$head:$port"', "head:6379"))


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_settings_of_a_layout_make_its_plan(name: str, tmp_path: Path) -> None:
    fleet, rest = split_overrides(overrides_of(name))
    expected = LAYOUTS[name]
    for part in ("learners", "rollouts", "learner_gpus", "rollout_gpus"):
        assert getattr(fleet, part) == getattr(expected, part)
    assert fleet.is_local == (expected.learners < 32)
    engine, own = split_engine(rest)
    apply_overrides(QuestionsSettings(), own)
    assert len(own) > 2
    assert (engine.kind == "vllm", len(engine.urls)) == ((True, 4) if "vllm" in name else (False, 0))
    for shade in range(4):
        Image.new("L", (64, 64), 60 * shade).save(tmp_path / f"{shade}.png")
    rows = [{"images": [f"{one % 4}.png"], "question": f"{one}?", "answer": str(one)} for one in range(32)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    context = RecipeContext(model=base_checkpoint(), data=tmp_path / "rows.jsonl", overrides=tuple(rest))
    plan = plan_of(load_recipe("questions").function, context)
    plan.check()
    assert plan.overlapping == (() if name == "one_gpu.sh" else ("rl",))


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_fits_its_machines(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    size = "Qwen/Qwen2.5-VL-3B-Instruct" if name == "one_gpu.sh" else "Qwen/Qwen2.5-VL-7B-Instruct"
    (tmp_path / "config.json").write_text(json.dumps(config_of(size)))
    words = [word for one in overrides_of(name) for word in ("--set", one)]
    machine = ["--gpus", str(8 * (8 if "32" in str(LAYOUTS[name]) else 1)), "--gpu-memory", "80", "--memory", "1024"]
    status = run_command(["plan-memory", "--model", str(tmp_path), *machine, *words])
    said = capsys.readouterr()
    assert (status, said.err) == (0, "")
    assert ("a server samples" in said.out) == ("vllm" in name)


@pytest.mark.parametrize("name", [name for name in LAYOUTS if not name.endswith(".yaml")])
def test_scripts_are_scripts(name: str) -> None:
    assert subprocess.run(["bash", "-n", str(FOLDER / name)], capture_output=True).stderr == b""


def test_the_manifest_is_a_job_of_eight_machines() -> None:
    manifest = yaml.safe_load((FOLDER / "kuberay.yaml").read_text())
    assert (manifest["apiVersion"], manifest["kind"]) == ("ray.io/v1", "RayJob")
    cluster = manifest["spec"]["rayClusterSpec"]
    # The operator hands the job to the dashboard's server, and asks it how the job goes.
    assert "include-dashboard" not in cluster["headGroupSpec"]["rayStartParams"]
    assert 1 + sum(group["replicas"] for group in cluster["workerGroupSpecs"]) == 8
    assert set(LAYOUTS) == {path.name for path in FOLDER.iterdir()}
