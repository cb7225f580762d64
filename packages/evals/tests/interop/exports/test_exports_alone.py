"""Exported packages where Saccade is not: in a virtual environment with NumPy, Pillow and Gymnasium alone."""

import ast
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from saccade.interop.exports.bundle import ENVIRONMENT, write_bundle
from saccade.interop.exports.openenv_package import ENTRIES
from saccade.interop.exports.packages import write_gymnasium, write_verifiers
from saccade.interop.exports.questions import draw_questions
from saccade.interop.exports.trainers import write_trl, write_verl
from saccade.interop.exports.verifier import ground_truth_of

GYMNASIUMS = ("cloudpickle", "farama_notifications", "typing_extensions")
PLAY = """
import json, sys
import gymnasium
env = gymnasium.make("saccade_visual_search:saccade/visual_search-v0", max_turns=2)
answers = json.loads(sys.argv[1])
env.reset(seed=0)
call = '<tool_call>{"name": "crop", "arguments": {"bbox_2d": [0, 0, 500, 500]}}</tool_call>'
shown, *_ = env.step(f"<think>closer</think>{call}")
paid = env.step(f"<think>a look</think><answer>{answers[env.unwrapped.task.id]}</answer>")[1]
env.reset(seed=1)
unpaid = env.step("<think>a look</think><answer>none of these</answer>")[1]
print(json.dumps([len(shown["images"]), paid, unpaid]))
"""
SCORE = """
import json, sys
from reward import compute_score
print(json.dumps([compute_score("s", reply, sys.argv[1])["score"] for reply in json.loads(sys.argv[2])]))
"""

TRL = """
import json, sys
sys.modules["saccade"] = None
from environment import ResizeRule, answer_score, environment_and_rows
view = ResizeRule(factor=28, min_pixels=3136, max_pixels=1 << 20, convention="absolute")
made, rows = environment_and_rows(view)
played = made()
played.reset(**rows[0])
shown = played.crop(bbox_2d=[0, 0, 100, 100])
answers = json.loads(sys.argv[1])
said = [[{"role": "assistant", "content": f"<answer>{text}</answer>"}] for text in (answers[rows[0]["task"]], "none")]
print(json.dumps([len(shown), *answer_score(said, [played, played])]))
"""


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with links to what the packages say that they need."""
    place = tmp_path_factory.mktemp("empty")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    [packages] = place.glob("lib/python*/site-packages")
    for name in ("numpy", "PIL", "gymnasium", *GYMNASIUMS):
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        origin = Path(spec.origin)
        folder = origin.parent if origin.name == "__init__.py" else origin
        (packages / folder.name).symlink_to(folder)
    for libraries in ("numpy.libs", "pillow.libs"):
        there = Path(importlib.util.find_spec("numpy").origin).parents[1] / libraries  # type: ignore[union-attr, arg-type]
        if there.is_dir():
            (packages / libraries).symlink_to(there)
    return place / "bin" / "python"


def said(python: Path, program: str, folder: Path, *arguments: str) -> list[float]:
    """What the program prints, with the folder alone on its path."""
    command = [str(python), "-c", f"import sys; sys.path.insert(0, {str(folder)!r})\n{program}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={"HOME": str(folder)}, cwd=folder)
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def test_gymnasiums_package_plays_and_pays_where_saccade_is_not(tmp_path: Path, empty: Path) -> None:
    questions = draw_questions("visual_search", train=2, test=1)
    write_gymnasium(questions, tmp_path)
    answers = {task.id: task.answer for task in questions.splits["train"]}
    assert said(empty, PLAY, tmp_path, json.dumps(answers)) == [1, 1.0, 0.0]
    with pytest.raises(AssertionError, match="No module named 'saccade'"):
        said(empty, "import saccade", tmp_path)


def test_trls_environment_plays_without_saccade(tmp_path: Path) -> None:
    questions = draw_questions("visual_search", train=2, test=1)
    write_trl(questions, tmp_path)
    answers = {task.id: task.answer for task in questions.splits["train"]}
    assert said(Path(sys.executable), TRL, tmp_path, json.dumps(answers)) == [2, 1.0, 0.0]


def test_a_reward_file_scores_where_saccade_is_not(tmp_path: Path, empty: Path) -> None:
    questions = draw_questions("document_text", train=1, test=1)
    write_verl(questions, tmp_path)
    task = questions.splits["train"][0]
    replies = [f"<think>a</think><answer>{answer}</answer>" for answer in (task.answer, "none of these")]
    assert said(empty, SCORE, tmp_path, ground_truth_of(task), json.dumps(replies)) == [1.0, 0.0]


@pytest.mark.parametrize(
    ("entries", "needed"),
    [
        (ENVIRONMENT, {"numpy", "PIL", "gymnasium"}),
        ((*ENVIRONMENT, "saccade.interop.trl.environment"), {"numpy", "PIL", "gymnasium"}),
        (ENTRIES, {"numpy", "PIL", "gymnasium", "openenv", "msgspec", "pydantic", "fastapi", "uvicorn", "websockets"}),
    ],
)
def test_copies_import_what_their_packages_say_and_no_more(
    tmp_path: Path, entries: tuple[str, ...], needed: set[str]
) -> None:
    name = write_bundle(tmp_path, entries=entries)
    imported = {part for path in tmp_path.rglob("*.py") for part in _imported_at_once(ast.parse(path.read_text()))}
    assert imported - {name, *sys.stdlib_module_names} <= needed


def test_verifiers_package_asks_for_verifiers_and_numpy(tmp_path: Path) -> None:
    write_verifiers(draw_questions("visual_search", train=1, test=1), tmp_path)
    assert 'dependencies = ["verifiers>=0.4,<0.5", "numpy"]' in (tmp_path / "pyproject.toml").read_text()


def _imported_at_once(tree: ast.AST) -> set[str]:
    """Roots of what a module imports while it is imported itself."""
    found = set[str]()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            found |= {one.name.partition(".")[0] for one in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
        elif isinstance(node, ast.If | ast.Try) and "TYPE_CHECKING" not in ast.dump(node):
            found |= _imported_at_once(node)
    return found
