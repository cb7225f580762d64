"""Which warnings a run shows, and that no package which happens to be installed shows in a session."""

import re
import sys
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from saccade.sandbox import Session
from saccade.sandbox.libraries import _needs, usable_packages

OWN = {
    "the code's own": "warnings.warn('mine', DeprecationWarning)",
    "a module's of the code": "import own_module; own_module.old()",
    "of the compiler": "warnings.simplefilter('always'); exec(compile(\"'\\\\d'\", '<own>', 'exec'))",
    "not of programming": "warnings.warn('mine')",
    "a library's, not of programming": "import numpy as np; np.log(np.array(-1.0));",
}
LIBRARY = "def old():\n    import warnings; warnings.warn('own module', DeprecationWarning, stacklevel=2)\n"


@pytest.mark.parametrize("kind", OWN)
def test_warnings_are_shown_as_python_shows_them(each: Session, kind: str) -> None:
    assert each.run(f"import warnings\nwith open('own_module.py', 'w') as file: file.write({LIBRARY!r})").ok
    result = each.run(OWN[kind])
    assert result.ok
    assert "Warning: " in result.stderr


def test_what_a_library_tells_programmers_of_its_future_is_not_shown(each: Session) -> None:
    result = each.run("len(input_image.getdata())")
    assert (result.stdout, result.stderr) == ("1200\n", "")
    strict = each.run("import warnings; warnings.simplefilter('error'); input_image.getdata()").error
    assert strict is not None
    assert strict.name == "DeprecationWarning"


FUTURE = "def old():\n    import warnings; warnings.warn('soon', FutureWarning, stacklevel=2); return 1200\n"


def test_a_future_warning_of_a_library_is_not_shown_and_the_codes_own_is(each: Session) -> None:
    library = "import types, sys; l = types.ModuleType('l'); exec(compile({!r}, '/lib/l.py', 'exec'), l.__dict__)"
    result = each.run(f"{library.format(FUTURE)}\nl.old()")
    assert (result.stdout, result.stderr) == ("1200\n", "")
    assert "FutureWarning: mine" in each.run("import warnings; warnings.warn('mine', FutureWarning)").stderr


def test_what_libraries_say_on_standard_error_names_neither_a_place_of_this_machine_nor_a_time(local: Session) -> None:
    low = local.run("import numpy as np, skimage.io as io; io.imsave('a.png', np.zeros((8, 8), np.uint8))").stderr
    assert re.fullmatch(r"<utils\.py>:\d+: UserWarning: a\.png is a low contrast image\n", low)
    unread = local.run("import cv2; cv2.imread('no.png')").stderr
    assert unread.startswith("[ WARN:0] ")


def test_the_marks_of_a_traceback_stand_under_what_they_mean(each: Session) -> None:
    for code in ("1/0", "x = 1\n1/0", "1/0\n"):
        error = each.run(code).error
        assert error is not None
        assert "    1/0\n    ~^~\n" in error.traceback


def test_a_warning_at_the_drawing_of_a_figure_names_no_place_of_this_machine(session: Session) -> None:
    result = session.run("import matplotlib.pyplot as plt; plt.title('\\u65e5'); plt.show()")
    assert result.stderr.startswith("<display>:1: UserWarning: Glyph ")


def test_the_sandbox_itself_warns_of_nothing(each: Session) -> None:
    shows = "Image.fromarray(np.ones((20, 20), np.uint16)).show(); display(input_image.convert('P'), np.eye(20))"
    threads = "import threading; t = threading.Thread(target=int); t.start(); t.join()"
    assert each.run("import warnings, numpy as np; from PIL import Image; warnings.simplefilter('error')").ok
    for code in (shows, threads, "import matplotlib.pyplot as plt; plt.plot([1])", "input_image.save('o.webp')", "1"):
        result = each.run(code)
        assert (result.error, result.stderr) == (None, "")


LOADED = """
import sys
sorted({name.partition('.')[0] for name, module in sys.modules.items() if getattr(module, '__file__', None)}
       - set(sys.stdlib_module_names))
"""


def test_no_other_package_is_loaded_named_or_found(local: Session) -> None:
    usable = {entry.partition(".")[0] for entries in usable_packages().values() for entry in entries}
    loaded = local.run(LOADED).stdout
    assert "numpy" in loaded
    known = usable | {"__main__", f"_sysconfigdata__{sys.platform}_{sys.implementation._multiarch}"}
    assert set(eval(loaded)) <= known
    named = local.run("import importlib.metadata as m; sorted({d.metadata['Name'] for d in m.distributions()})").stdout
    assert "numpy" in named
    assert "pytest" not in named
    # What matplotlib heard of when it was loaded.
    heard = "from matplotlib.backends import backend_registry; 'inline' in backend_registry.list_all()"
    assert local.run(heard).stdout == "False\n"
    for name in ("IPython", "pytest", "_pytest", "saccade"):
        error = local.run(f"import {name}").error
        assert error is not None
        assert error.name == "ModuleNotFoundError"


def test_needs_of_other_machines_and_extras_are_no_needs(tmp_path: Path) -> None:
    lines = [
        "Name: a",
        "Requires-Dist: b>=1",
        'Requires-Dist: c; python_version < "3"',
        'Requires-Dist: d; extra == "e"',
    ]
    (tmp_path / "METADATA").write_text("\n".join(lines) + "\n")
    assert _needs(PathDistribution(tmp_path)) == ["b"]
