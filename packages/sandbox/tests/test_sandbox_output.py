"""What a run shows: text, pictures, and why it failed."""

import numpy as np
import pytest
from PIL import Image

from saccade.sandbox import Limits, RunError, Sandbox, Session


def only_image(session: Session, code: str) -> Image.Image:
    result = session.run(code)
    assert result.ok, result.error
    (image,) = result.images
    return image


def colour(image: Image.Image) -> object:
    return image.mode, image.size, image.getpixel((0, 0))


def test_the_last_expression_is_shown_as_in_a_notebook(each: Session) -> None:
    assert each.run("x = 3\nx + 1").stdout == "4\n"
    assert each.run("'text'").stdout == "'text'\n"
    assert each.run("x = 3").stdout == ""
    assert each.run("None").stdout == ""
    assert each.run("x;").stdout == ""
    assert each.run("print('a')\n'b'").stdout == "a\n'b'\n"


def test_printed_and_warned_text_come_apart(each: Session) -> None:
    result = each.run("import sys\nprint('out')\nprint('err', file=sys.stderr)\nprint('é\\udcff')")
    assert (result.stdout, result.stderr) == ("out\né?\n", "err\n")


def test_the_first_image_is_a_variable_and_a_file(each: Session) -> None:
    assert each.run("input_image.mode, input_image.size").stdout == "('RGB', (40, 30))\n"
    code = "from PIL import Image\nlist(Image.open('input_image.png').getdata()) == list(input_image.getdata())"
    assert each.run(code.replace("getdata", "get_flattened_data")).stdout == "True\n"


def test_several_images_are_a_list(sandbox: Sandbox) -> None:
    red, blue = (Image.new("RGB", (8, 8), name) for name in ("red", "blue"))
    with sandbox.session({"a.png": red, "b.jpg": blue}) as session:
        look = "import os\nlen(input_images), input_image.getpixel((0, 0)), sorted(os.listdir('.'))"
        assert session.run(look).stdout == "(2, (255, 0, 0), ['a.png', 'b.jpg'])\n"


SHOWN = {
    "last expression": "picture",
    "show()": "picture.show()",
    "display": "display(picture)",
    "saved": "picture.save('out.png')",
    "saved in a folder": "import os; os.mkdir('o'); picture.save('o/out.png')",
    "saved by OpenCV": "import cv2, numpy as np; cv2.imwrite('o.png', np.array(picture)[:, :, ::-1]);",
    "array": "import numpy as np; np.array(picture)",
    "floats": "import numpy as np; np.array(picture) / 255",
    "cv2.imshow takes blue first": "import cv2, numpy as np; cv2.imshow('w', np.array(picture)[:, :, ::-1])",
    "saved and shown are one": "picture.save('a.png'); picture.show(); picture",
}


@pytest.mark.parametrize("way", SHOWN)
def test_a_picture_comes_back_however_it_is_shown(session: Session, way: str) -> None:
    code = f"from PIL import Image\npicture = Image.new('RGB', (32, 24), (255, 128, 0))\n{SHOWN[way]}"
    assert colour(only_image(session, code)) == ("RGB", (32, 24), (255, 128, 0))


@pytest.mark.parametrize("end", ["plt.show()", "fig", "", "fig.show()", "plt.gca()", "plt.savefig('a.png')"])
def test_a_figure_comes_back_once_however_it_is_shown(session: Session, end: str) -> None:
    image = only_image(
        session, f"import matplotlib.pyplot as plt\nfig = plt.figure(figsize=(2, 1))\nplt.plot([1])\n{end}"
    )
    assert (image.mode, image.size) == ("RGB", (200, 100))
    assert session.run("plt.get_fignums()").stdout == "[]\n"


def test_black_and_white_and_transparent_pictures_become_rgb(session: Session) -> None:
    make = "import numpy as np\nfrom PIL import Image\n"
    assert colour(only_image(session, make + "np.ones((20, 20), bool)")) == ("RGB", (20, 20), (255, 255, 255))
    assert colour(only_image(session, make + "np.zeros((20, 20, 1), np.uint8)")) == ("RGB", (20, 20), (0, 0, 0))
    assert colour(only_image(session, make + "Image.new('RGBA', (9, 9))")) == ("RGB", (9, 9), (255, 255, 255))
    assert colour(only_image(session, make + "Image.new('I;16', (9, 9), 65535)")) == ("RGB", (9, 9), (255, 255, 255))


@pytest.mark.parametrize(
    "table", ["np.eye(3)", "np.full((20, 20), 7.5)", "np.zeros((20, 20), int)", "np.zeros((20, 20, 2), np.uint8)"]
)
def test_a_table_of_numbers_is_no_picture(session: Session, table: str) -> None:
    result = session.run(f"import numpy as np\n{table}")
    assert result.images == ()
    assert result.stdout.startswith("array(")


def test_pictures_come_in_the_order_in_which_they_were_made(session: Session) -> None:
    code = """
from PIL import Image
for name, shade in (('z', 1), ('a', 2)):
    Image.new('L', (9, 9), shade).save(name + '.png')
Image.new('L', (9, 9), 3).show()
Image.new('L', (9, 9), 4)
"""
    assert [image.getpixel((0, 0)) for image in session.run(code).images] == [(n, n, n) for n in (1, 2, 3, 4)]


def test_pictures_shown_before_a_failure_come_back(session: Session) -> None:
    result = session.run("input_image.show()\n1/0")
    assert [image.size for image in result.images] == [(40, 30)]
    late = session.run("print('so far', flush=True)\ninput_image.show()\nimport time; time.sleep(99)", timeout_s=2.0)
    assert late.stdout == "so far\n"
    assert [image.size for image in late.images] == [(40, 30)]


def test_pictures_are_bounded_in_number_pixels_and_bytes() -> None:
    limits = Limits(images=3, image_pixels=10_000, image_mib=1)
    with Sandbox(limits=limits) as sandbox, sandbox.session() as session:
        many = session.run("from PIL import Image\nfor n in range(9): Image.new('L', (9, 9), n).show()")
        assert len(many.images) == 3
        assert many.stderr.splitlines()[0] == "[image left out: one run returns at most 3]"
        assert many.stderr.splitlines()[-1] == "[2 more images left out]"
        large = session.run("Image.new('L', (200, 200)).show()")
        assert (large.images, "200x200 pixels" in large.stderr) == ((), True)


def test_long_output_is_cut_with_a_note(session: Session) -> None:
    result = session.run("print('first'); print('x' * 200_000); print('last')")
    assert len(result.stdout) < 17_000
    assert result.stdout.startswith("first\nxxx")
    assert "characters of output left out]" in result.stdout
    assert result.stdout.endswith("xxx\nlast\n")
    endless = session.run("while True: print('y' * 10_000)")
    assert endless.error is not None
    assert endless.error.kind == "limit"
    assert len(endless.stdout) < 17_000


def test_a_traceback_shows_the_models_lines_only(session: Session) -> None:
    session.run("import numpy as np\ndef ask(n):\n    return np.linalg.inv(np.zeros((n, n)))")
    assert session.run("value = 1\nask(2)").error == RunError(
        kind="exception",
        name="LinAlgError",
        message="Singular matrix",
        traceback="""Traceback (most recent call last):
  File "<run 2>", line 2, in <module>
    ask(2)
  File "<run 1>", line 3, in ask
    return np.linalg.inv(np.zeros((n, n)))
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
numpy.linalg.LinAlgError: Singular matrix
""",
    )


@pytest.mark.parametrize(
    ("code", "kind", "name"),
    [
        ("1/0", "exception", "ZeroDivisionError"),
        ("input('?')", "exception", "EOFError"),
        ("exit()", "exit", "SystemExit"),
        ("quit(1)", "exit", "SystemExit"),
        ("raise SystemExit", "exit", "SystemExit"),
        ("import os; os._exit(0)", "exit", ""),
        ("import time; time.sleep(9)", "timeout", ""),
        ("try:\n    while True: pass\nexcept BaseException: pass", "timeout", ""),
        ("x = bytearray(4 << 30)", "memory", "MemoryError"),
        ("import ctypes; ctypes.string_at(0)", "killed", ""),
        ("import os; os.abort()", "killed", ""),
        ("raise KeyboardInterrupt", "exception", "KeyboardInterrupt"),
        ("def f(): f()\nf()", "exception", "RecursionError"),
        ("x = '\\0'\n\0", "exception", "SyntaxError"),
    ],
)
def test_a_failure_says_its_kind(session: Session, code: str, kind: str, name: str) -> None:
    error = session.run(code, timeout_s=0.7 if kind == "timeout" else 60.0).error
    assert error is not None
    assert (error.kind, error.name) == (kind, name)


def test_an_exception_that_cannot_be_asked_is_still_one(session: Session) -> None:
    code = "class Bad(Exception):\n    def __str__(self):\n        raise SystemExit\nraise Bad"
    error = session.run(code).error
    assert error is not None
    assert (error.kind, error.name, error.message) == ("exception", "Bad", "")


def test_code_in_main_finds_itself(session: Session) -> None:
    code = "import pickle\nclass Point: pass\nif __name__ == '__main__':\n    type(pickle.loads(pickle.dumps(Point())))"
    assert session.run(code).ok
    assert session.run("pickle.loads(pickle.dumps(Point())).__class__ is Point").stdout == "True\n"


def test_the_libraries_that_are_not_warm_can_be_imported(session: Session) -> None:
    assert session.run("import scipy.ndimage, sympy, pandas, skimage.measure", timeout_s=60).ok


def test_an_image_of_noise_comes_back_pixel_by_pixel(sandbox: Sandbox) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (50, 60, 3), dtype=np.uint8)
    with sandbox.session({"noise.png": Image.fromarray(noise)}) as session:
        assert np.array_equal(np.array(session.run("input_image").images[0]), noise)
