"""How the libraries of a run show things when there is no screen: matplotlib, OpenCV, PIL and the last expression."""

import sys
from collections.abc import Callable

import cv2
import matplotlib
import numpy as np
import PIL.ImageShow
from PIL import Image

from saccade.sandbox.capture import Gallery, Viewer, image_of_array

matplotlib.use("agg")

from matplotlib import pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

_WINDOWS = ("namedWindow", "moveWindow", "resizeWindow", "setWindowTitle", "destroyWindow", "destroyAllWindows")


def warm() -> None:
    """Draws and decodes once, so that no run pays for fonts, caches and lazy imports."""
    figure, axes = plt.subplots()
    axes.plot([0, 1], [0, 1], label="a")
    axes.set_title("warm")
    axes.legend()
    FigureCanvasAgg(figure).draw()
    plt.close("all")
    Image.init()
    # One thread each: a run that starts none is committed without a second fork.
    cv2.setNumThreads(1)
    grey = cv2.cvtColor(np.zeros((32, 32, 3), np.uint8), cv2.COLOR_BGR2GRAY)
    cv2.Canny(grey, 50, 100)
    np.linalg.inv(np.eye(3))


def install(gallery: Gallery) -> Callable[..., None]:
    """Makes the libraries show into the gallery; returns ``display``, as notebooks have it."""

    def display(*values: object) -> None:
        for value in values:
            show_value(gallery, value)

    def show_figures(*_: object, **__: object) -> None:
        show_open_figures(gallery)

    def show_figure(figure: Figure, *_: object, **__: object) -> None:
        _draw(gallery, figure)

    def imshow(winname: str, mat: object) -> None:
        image = image_of_array(mat, is_bgr=True)
        if image is None:
            raise cv2.error(f"imshow: {type(mat).__name__} is not an image that can be shown")
        gallery.show(image)

    def no_key(delay: int = 0) -> int:
        return -1

    def nothing(*_: object, **__: object) -> None:
        return

    replaced: dict[object, dict[str, object]] = {
        plt: {"show": show_figures},
        Figure: {"show": show_figure},
        cv2: {
            "imshow": imshow,
            "waitKey": no_key,
            "waitKeyEx": no_key,
            **dict.fromkeys(_WINDOWS, nothing),
        },
    }
    for owner, functions in replaced.items():
        for name, function in functions.items():
            setattr(owner, name, function)
    PIL.ImageShow.register(Viewer(gallery), 0)
    return display


def show_value(gallery: Gallery, value: object) -> None:
    """Shows a value as a notebook does: pictures and figures as pictures, all else as text, arrays as both."""
    if value is None:
        return
    if isinstance(value, Image.Image):
        gallery.show(value)
        return
    if isinstance(value, Figure):
        _draw(gallery, value)
        return
    image = image_of_array(value)
    if image is not None:
        gallery.show(image)
    sys.stdout.write(repr(value) + "\n")


def show_open_figures(gallery: Gallery) -> None:
    """Shows the open figures and closes them."""
    try:
        for number in plt.get_fignums():
            _draw(gallery, plt.figure(number))
    finally:
        plt.close("all")


def _draw(gallery: Gallery, figure: Figure) -> None:
    width, height = figure.get_size_inches() * figure.dpi
    if not gallery.fits(width, height):
        return
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    gallery.show(Image.fromarray(np.asarray(canvas.buffer_rgba())))
