"""Optional engines: Tesseract, light and quick, and EasyOCR, with its many languages."""

import importlib
import threading
from functools import cached_property
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from saccade.errors import MachineError, UserError
from saccade.geometry import Box
from saccade.pictures import bounded
from saccade.readers.text.lines import MAX_SIDE_PX, TextLine, in_reading_order, scaled

TESSERACT_TIMEOUT_S = 30


class TesseractReader:
    """Tesseract through pytesseract. ``UserError`` says what is missing when it is made."""

    def __init__(self, *, language: str = "eng", min_confidence: float = 0.3, enlarge: float = 2.0) -> None:
        self._language, self._min_confidence, self._enlarge = language, min_confidence, enlarge
        self._tesseract = cast(_Tesseract, _import_or_refuse("pytesseract", "pip install pytesseract"))
        try:
            self._tesseract.get_tesseract_version()
        # Its own error, whose class is not known without the package, says that the program is not in the path.
        except Exception as error:
            raise UserError(
                "the program tesseract was not found; install it, for instance with apt-get install tesseract-ocr"
            ) from error

    def read(self, image: Image.Image) -> tuple[TextLine, ...]:
        shown, _ = bounded(image, MAX_SIDE_PX)
        size = (round(shown.width * self._enlarge), round(shown.height * self._enlarge))
        shown, _ = bounded(shown.resize(size, Image.Resampling.BICUBIC), 2 * MAX_SIDE_PX)
        scale = shown.width / image.width
        try:
            words = self._tesseract.image_to_data(
                shown, lang=self._language, config="--psm 11", output_type="dict", timeout=TESSERACT_TIMEOUT_S
            )
        except RuntimeError as error:
            raise MachineError(f"tesseract failed: {error}") from error
        return in_reading_order([line for line in _word_lines(words, scale) if line.confidence >= self._min_confidence])


class EasyReader:
    """EasyOCR; its weights are loaded at the first call, from ``folder`` when given, and never downloaded."""

    def __init__(self, *, languages: tuple[str, ...] = ("en",), folder: str = "", min_confidence: float = 0.3) -> None:
        self._languages, self._folder, self._min_confidence = languages, folder, min_confidence
        self._easyocr = cast(_EasyModule, _import_or_refuse("easyocr", "pip install easyocr (it brings torchvision)"))
        self._lock = threading.Lock()

    @cached_property
    def _reader(self) -> "_EasyEngine":
        try:
            return self._easyocr.Reader(
                list(self._languages),
                gpu=False,
                model_storage_directory=self._folder or None,
                download_enabled=False,
                verbose=False,
            )
        except FileNotFoundError as error:
            raise UserError(
                f"EasyOCR has no weights for {', '.join(self._languages)} in {self._folder or '~/.EasyOCR'}; run "
                "easyocr once where it may download them, or name the folder that holds them"
            ) from error

    def read(self, image: Image.Image) -> tuple[TextLine, ...]:
        shown, _ = bounded(image, MAX_SIDE_PX)
        scale = shown.width / image.width
        with self._lock:
            found = self._reader.readtext(np.asarray(shown.convert("RGB")))
        lines = []
        for corners, text, confidence in found:
            places = np.asarray(corners, dtype=float)
            box = Box(*places.min(axis=0).tolist(), *places.max(axis=0).tolist())
            lines.append(TextLine(text=text, box=scaled(box, 1 / scale), confidence=round(float(confidence), 4)))
        return in_reading_order([line for line in lines if line.confidence >= self._min_confidence])


class _Tesseract(Protocol):
    def get_tesseract_version(self) -> object: ...

    def image_to_data(
        self, image: Image.Image, *, lang: str, config: str, output_type: str, timeout: int
    ) -> dict[str, list[str | int | float]]: ...


class _EasyEngine(Protocol):
    def readtext(self, image: NDArray[np.uint8]) -> list[tuple[list[list[float]], str, float]]: ...


class _EasyModule(Protocol):
    def Reader(  # noqa: N802
        self,
        languages: list[str],
        *,
        gpu: bool,
        model_storage_directory: str | None,
        download_enabled: bool,
        verbose: bool,
    ) -> _EasyEngine: ...


def _import_or_refuse(module: str, how: str) -> object:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UserError(f"{module} is not installed; install it with {how}, or use the engine rapidocr") from error


def _word_lines(words: dict[str, list[str | int | float]], scale: float) -> list[TextLine]:
    """Words of one line, joined until a gap is wider than a word space."""
    lines: list[TextLine] = []
    last = None
    for index, said in enumerate(words["text"]):
        text, confidence = str(said).strip(), float(words["conf"][index]) / 100
        if not text or confidence < 0:
            continue
        left, top, width, height = (float(words[side][index]) / scale for side in ("left", "top", "width", "height"))
        box = Box(left, top, left + width, top + height)
        key = tuple(words[part][index] for part in ("block_num", "par_num", "line_num"))
        if key == last and box.x1 - lines[-1].box.x2 < 0.75 * box.height:
            before = lines.pop()
            text, confidence = f"{before.text} {text}", min(before.confidence, confidence)
            box = Box(before.box.x1, min(before.box.y1, box.y1), box.x2, max(before.box.y2, box.y2))
        lines.append(TextLine(text=text, box=box, confidence=round(confidence, 4)))
        last = key
    return lines
