"""What a session sees of the machine's files."""

import subprocess
import sys
import sysconfig
from pathlib import Path

from places import SOURCES
from saccade.sandbox import libraries
from saccade.sandbox.libraries import usable_entries

OWN = Path(libraries.__file__).parents[1]


def test_saccade_beside_other_packages_is_hidden_with_them_and_else_by_itself() -> None:
    """Where it is installed among packages, their folder is closed before its own could be covered (pip, conda)."""
    packages, above = str(OWN.parent), str(OWN.parents[1])
    beside = usable_entries([above], {packages: ["numpy"]})
    assert (beside[packages], str(OWN) in beside) == (["numpy"], False)
    assert usable_entries([above], {})[str(OWN)] == []
    assert str(OWN) not in usable_entries([f"{above}/elsewhere"], {})


SESSION = """
from PIL import Image
from saccade.sandbox.sandbox import Sandbox
from saccade.tools.code import python_tool
with Sandbox(isolation="none") as sandbox:
    print(python_tool(sandbox).spec.description.partition(". ")[0])
    session = sandbox.session({"input_image_0.png": Image.new("RGB", (40, 30))})
    shown = session.run("import numpy\\nprint(numpy.arange(3).sum(), input_image.size)\\nnumpy.zeros((20, 20))[0, 0]")
    print(shown.stdout.split(), session.run("input_image.show()").images[0].size)
    print(session.run("import cv2").error.message)
"""


def test_of_libraries_only_those_that_are_installed_are_offered_and_the_others_named_before_the_first_run(
    tmp_path: Path,
) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path], check=True)
    [packages] = tmp_path.glob("lib/python3*/site-packages")
    absent = (
        "cv2",
        "opencv",
        "matplotlib",
        "mpl_toolkits",
        "scipy",
        "sympy",
        "skimage",
        "scikit",
        "saccade",
        "__editable",
    )
    for entry in Path(sysconfig.get_paths()["purelib"]).iterdir():
        if not entry.name.startswith(absent) and entry.suffix != ".pth":
            (packages / entry.name).symlink_to(entry)
    environment = {"PYTHONPATH": ":".join(map(str, SOURCES)), "PATH": "/usr/bin:/bin"}
    command = [tmp_path / "bin" / "python", "-W", "ignore", "-c", SESSION]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert ran.stdout.splitlines() == [
        "Run Python 3 with numpy, PIL and pandas",
        "['3', '(40,', '30)', 'np.float64(0.0)'] (40, 30)",
        "No module named 'cv2'",
    ]
    [line] = ran.stderr.splitlines()
    assert "has no cv2, matplotlib, scipy, skimage, sympy, so that a program that imports one fails" in line
