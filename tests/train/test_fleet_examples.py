"""The layouts in ``examples/fleet``: their settings exist and pass, and what is a script or a manifest can be read."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from saccade.config.fleet import FleetSettings, split_overrides
from saccade.config.settings import apply_overrides
from saccade.recipes.questions_settings import QuestionsSettings

FOLDER = Path(__file__).parents[2] / "examples" / "fleet"
LAYOUTS = {
    "one_gpu.sh": FleetSettings(),
    "eight_gpus.sh": FleetSettings(learners=4, rollouts=4, learner_gpus=1, rollout_gpus=1),
    "eight_machines.sbatch": FleetSettings(learners=32, rollouts=32, learner_gpus=1, rollout_gpus=1),
    "kuberay.yaml": FleetSettings(learners=32, rollouts=32, learner_gpus=1, rollout_gpus=1),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_settings_of_a_layout_pass(name: str) -> None:
    overrides = re.findall(r"--set (\S+)", (FOLDER / name).read_text().replace('"$head:$port"', "head:6379"))
    fleet, rest = split_overrides(overrides)
    expected = LAYOUTS[name]
    for part in ("learners", "rollouts", "learner_gpus", "rollout_gpus"):
        assert getattr(fleet, part) == getattr(expected, part)
    assert fleet.is_local == (expected.learners < 32)
    apply_overrides(QuestionsSettings(), rest)
    assert len(rest) > 2


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
