"""Figures, pictures and image-like arrays that a run shows: captured from its libraries, announced one by one.

There is no screen: matplotlib, OpenCV, PIL and the last expression show into a ``Gallery``, which puts raw RGB into a
memory file.
"""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator

import numpy as np
import PIL.ImageShow
from PIL import Image

from saccade.sandbox.libraries import installed_libraries
from saccade.sandbox.results import Limits

if HAS_CV2 := "cv2" in installed_libraries():
    import cv2
if HAS_MATPLOTLIB := "matplotlib" in installed_libraries():
    import matplotlib

    matplotlib.use("agg")

    from matplotlib import pyplot as plt
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

Announce = Callable[[int, int, int], None]
"""Tells the keeper of one picture: width, height, and where its bytes start."""

SUFFIXES = frozenset((".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff"))
UNREADABLE = (OSError, ValueError, SyntaxError, Image.DecompressionBombError)
"""Exceptions of PIL for files that are no pictures, or far too large ones."""
SMALLEST_ARRAY_PX = 16
"""An array with a shorter side is a table of numbers, not a picture."""
_MOST_LISTED = 2000

Listing = dict[str, tuple[int, int, int]]


class Gallery:
    """The pictures of one run, in order, within its limits; the same pixels twice in a run are one picture."""

    def __init__(self, descriptor: int, folder: str, limits: Limits, announce: Announce) -> None:
        self._descriptor = descriptor
        self._folder = folder
        self._limits = limits
        self._announce = announce
        self._shown: list[tuple[tuple[int, int], bytes]] = []
        self._bytes = 0
        self._left_out: list[str] = []
        self._files: Listing = {}

    def start(self) -> None:
        self._shown, self._bytes, self._left_out = [], 0, []
        self._files = list_images(self._folder)

    def notes(self) -> str:
        """A line for each picture left out, at most a handful."""
        more = len(self._left_out) - 4
        lines = self._left_out[:4] + ([f"[{more} more images left out]"] if more > 0 else [])
        return "".join(line + "\n" for line in lines)

    def fits(self, width: float, height: float) -> bool:
        """Whether a picture of this size may still be shown; notes why not."""
        pixels, limits = int(width) * int(height), self._limits
        why = ""
        if len(self._shown) >= limits.images:
            why = f"one run returns at most {limits.images}"
        elif pixels <= 0 or pixels > limits.image_pixels:
            why = f"{int(width)}x{int(height)} pixels, at most {limits.image_pixels} are returned"
        elif self._bytes + 3 * pixels > limits.image_mib << 20:
            why = f"the images of one run may have {limits.image_mib} MiB together"
        if why:
            self._left_out.append(f"[image left out: {why}]")
        return not why

    def show(self, image: Image.Image) -> None:
        """Adds a picture, after those that have been saved before it was shown."""
        self.show_saved()
        self._add(image)

    def show_saved(self) -> None:
        """Adds the pictures saved since the last look; a file that is no picture is passed over."""
        before, self._files = self._files, list_images(self._folder)
        for path in _newer(before, self._files):
            with contextlib.suppress(*UNREADABLE), Image.open(path) as image:
                self._add(image)

    def _add(self, image: Image.Image) -> None:
        if not self.fits(*image.size):
            return
        content = as_rgb(image).tobytes()
        if (image.size, content) in self._shown:
            return
        os.pwrite(self._descriptor, content, self._bytes)
        self._announce(image.width, image.height, self._bytes)
        self._shown.append((image.size, content))
        self._bytes += len(content)


def as_rgb(image: Image.Image) -> Image.Image:
    """The picture in RGB: what is transparent is white, and deep greys are scaled to eight bits."""
    if image.mode == "RGB":
        return image
    if image.mode in ("I", "F") or image.mode.startswith("I;"):
        values = np.asarray(image, dtype=np.float64)
        top = float(values.max(initial=0.0))
        values = np.nan_to_num(values) * (255.0 / top if top > 255.0 else 1.0)
        return Image.fromarray(np.clip(values, 0, 255).astype(np.uint8)).convert("RGB")
    if "A" in image.getbands() or "a" in image.mode or "transparency" in image.info:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        return Image.alpha_composite(white, image).convert("RGB")
    return image.convert("RGB")


def image_of_array(value: object, *, is_bgr: bool = False) -> Image.Image | None:
    """The picture that an array is, None when it is a table of numbers.

    Pictures are HxW, HxWx1, HxWx3 (RGB) and HxWx4 (RGBA), both sides at least ``SMALLEST_ARRAY_PX``, of uint8, of
    bool, or of floats in 0..1.
    """
    if not isinstance(value, np.ndarray) or value.ndim not in (2, 3) or min(value.shape[:2]) < SMALLEST_ARRAY_PX:
        return None
    array = value
    if array.ndim == 3:
        if array.shape[2] not in (1, 3, 4):
            return None
        array = array[:, :, 0] if array.shape[2] == 1 else array
    if array.dtype == np.bool_:
        pixels = array.astype(np.uint8) * 255
    elif array.dtype == np.uint8:
        pixels = np.asarray(array)
    elif array.dtype.kind == "f" and bool(np.all((array >= 0) & (array <= 1))):
        pixels = np.rint(array * 255).astype(np.uint8)
    else:
        return None
    if is_bgr and pixels.ndim == 3:
        pixels = pixels[:, :, [2, 1, 0, *range(3, pixels.shape[2])]]
    return Image.fromarray(np.ascontiguousarray(pixels))


def list_images(folder: str) -> Listing:
    """Picture files under a folder by their path: inode, time and size of each."""
    found: Listing = {}
    for count, entry in enumerate(_entries(folder, depth=4)):
        if count >= _MOST_LISTED:
            break
        if os.path.splitext(entry.name)[1].lower() in SUFFIXES and entry.is_file(follow_symlinks=False):  # noqa: PTH122
            stat = entry.stat(follow_symlinks=False)
            found[entry.path] = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
    return found


def _newer(before: Listing, after: Listing) -> list[str]:
    # A tmpfs numbers its inodes in order; its clock is too coarse for that.
    return [path for path in sorted(after, key=lambda path: after[path]) if before.get(path) != after[path]]


def _entries(folder: str, depth: int) -> Iterator["os.DirEntry[str]"]:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        yield entry
        if depth > 1 and entry.is_dir(follow_symlinks=False):
            yield from _entries(entry.path, depth - 1)


class Viewer(PIL.ImageShow.Viewer):
    """Viewer for ``Image.show()`` that adds the picture to the gallery."""

    def __init__(self, gallery: Gallery) -> None:
        self._gallery = gallery

    def show(self, image: Image.Image, **options: object) -> int:
        self._gallery.show(image)
        return 1


_WINDOWS = ("namedWindow", "moveWindow", "resizeWindow", "setWindowTitle", "destroyWindow", "destroyAllWindows")


def warm() -> None:
    """Draws and decodes once, so that no run pays for fonts, caches and lazy imports."""
    if HAS_MATPLOTLIB:
        figure, axes = plt.subplots()
        axes.plot([0, 1], [0, 1], label="a")
        axes.set_title("warm")
        axes.legend()
        FigureCanvasAgg(figure).draw()
        plt.close("all")
    Image.init()
    if HAS_CV2:
        # One thread each: a run that starts none is committed without a second fork.
        cv2.setNumThreads(1)
        grey = cv2.cvtColor(np.zeros((32, 32, 3), np.uint8), cv2.COLOR_BGR2GRAY)
        cv2.Canny(grey, 50, 100)
    np.linalg.inv(np.eye(3))


def seed_opencv(seed: int) -> None:
    """Seeds OpenCV's random numbers, where it is installed."""
    if HAS_CV2:
        cv2.setRNGSeed(seed % (1 << 31))


def install(gallery: Gallery) -> Callable[..., None]:
    """Makes the libraries show into the gallery; returns ``display``, as notebooks have it."""

    def display(*values: object) -> None:
        for value in values:
            show_value(gallery, value)

    if HAS_MATPLOTLIB:
        _install_figures(gallery)
    if HAS_CV2:
        _install_windows(gallery)
    PIL.ImageShow.register(Viewer(gallery), 0)
    return display


def _install_figures(gallery: Gallery) -> None:
    def show_figures(*_: object, **__: object) -> None:
        show_open_figures(gallery)

    def show_figure(figure: "Figure", *_: object, **__: object) -> None:
        _draw(gallery, figure)

    replaced: tuple[tuple[object, str, object], ...] = ((plt, "show", show_figures), (Figure, "show", show_figure))
    for owner, name, function in replaced:
        setattr(owner, name, function)


def _install_windows(gallery: Gallery) -> None:
    def imshow(winname: str, mat: object) -> None:
        image = image_of_array(mat, is_bgr=True)
        if image is None:
            raise cv2.error(f"imshow: {type(mat).__name__} is not an image that can be shown")
        gallery.show(image)

    def no_key(delay: int = 0) -> int:
        return -1

    def nothing(*_: object, **__: object) -> None:
        return

    cv2.imshow, cv2.waitKey, cv2.waitKeyEx = imshow, no_key, no_key
    for name in _WINDOWS:
        setattr(cv2, name, nothing)


def show_value(gallery: Gallery, value: object) -> None:
    """Shows a value as a notebook does: pictures and figures as pictures, all else as text, arrays as both."""
    if value is None:
        return
    if isinstance(value, Image.Image):
        gallery.show(value)
        return
    if HAS_MATPLOTLIB and isinstance(value, Figure):
        _draw(gallery, value)
        return
    image = image_of_array(value)
    if image is not None:
        gallery.show(image)
    sys.stdout.write(repr(value) + "\n")


def show_open_figures(gallery: Gallery) -> None:
    """Shows the open figures and closes them."""
    if not HAS_MATPLOTLIB:
        return
    try:
        for number in plt.get_fignums():
            _draw(gallery, plt.figure(number))
    finally:
        plt.close("all")


def _draw(gallery: Gallery, figure: "Figure") -> None:
    width, height = figure.get_size_inches() * figure.dpi
    if not gallery.fits(width, height):
        return
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    gallery.show(Image.fromarray(np.asarray(canvas.buffer_rgba())))
