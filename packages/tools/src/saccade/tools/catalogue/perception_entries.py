"""Perception in the catalogue: detection, segmentation, text; image tools and Python."""

from collections.abc import Mapping
from functools import partial

from saccade.readers.text.lines import TextReader
from saccade.tools.catalogue.entries import Entry, Make, Unconfigured, ready
from saccade.tools.catalogue.models import detector, segmenter
from saccade.tools.catalogue.settings import Options
from saccade.tools.images import IMAGE_TOOLS
from saccade.tools.tool import Tool, find_tool
from saccade.types import Json

DEADLINE_S = 60.0


def _detect_objects(options: Options) -> Make:
    model, deadline_s = detector(options), options.number("deadline_s", DEADLINE_S, low=0.1)

    def make() -> Tool:
        from saccade.tools.perception import detection_tool

        return detection_tool(model(), deadline_s=deadline_s)

    return make


def _detection_outline() -> Tool:
    from saccade.tools.perception import detection_tool

    return detection_tool(Unconfigured())


def _segment(options: Options) -> Make:
    model, deadline_s = segmenter(options), options.number("deadline_s", DEADLINE_S, low=0.1)

    def make() -> Tool:
        from saccade.tools.perception import segmentation_tool

        return segmentation_tool(model(), deadline_s=deadline_s)

    return make


def _segmentation_outline() -> Tool:
    from saccade.tools.perception import segmentation_tool

    return segmentation_tool(Unconfigured())


def text_reader(options: Options) -> TextReader:
    """The engine that ``engine`` names; RapidOCR is in the wheel with its weights and works offline at once."""
    engine = options.choice("engine", ("rapidocr", "tesseract", "easyocr"), "rapidocr")
    if engine == "rapidocr":
        options.need_package("rapidocr", extra="readers")
        options.need_package("onnxruntime", extra="readers")
        from saccade.readers.text.rapid import RapidReader

        return RapidReader(min_confidence=options.number("min_confidence", 0.5, high=1.0))
    from saccade.readers.text.optional import EasyReader, TesseractReader

    least = options.number("min_confidence", 0.3, high=1.0)
    if engine == "tesseract":
        return TesseractReader(language=options.text("language", "eng"), min_confidence=least)
    languages = tuple(options.text("language", "en").replace(",", " ").split())
    folder = options.optional_path("folder")
    return EasyReader(languages=languages, folder="" if folder is None else str(folder), min_confidence=least)


def _reading(options: Options) -> Make:
    reader = text_reader(options)

    def make() -> Tool:
        from saccade.tools.ocr_tools import reading_tools

        return find_tool(options.name, reading_tools(reader))

    return make


def _reading_outline(name: str) -> Make:
    def make() -> Tool:
        from saccade.tools.ocr_tools import reading_tools

        return find_tool(name, reading_tools(Unconfigured()))

    return make


PERCEPTION = (
    Entry(
        name="detect_objects",
        family="perception",
        summary="Finds things by their names: boxes, scores and a picture of them",
        source="VISTA-Gym appendix B (GroundingDINO); models GroundingDINO, OWLv2",
        makers={"transformers": _detect_objects},
        outline=_detection_outline,
        example={"phrases": "red square, blue circle"},
    ),
    Entry(
        name="segment",
        family="perception",
        summary="Cuts a thing out by a box or points: its mask, area and a picture of it",
        source="VISTA-Gym appendix B (SAM); models SAM, SAM 2",
        makers={"transformers": _segment},
        outline=_segmentation_outline,
        example={"bbox_2d": [20, 30, 120, 140]},
    ),
    Entry(
        name="read_text",
        family="perception",
        summary="Reads all text in an image, by lines or by the rows of a table",
        source="VISTA-Gym appendix B (EasyOCR); engines RapidOCR, Tesseract, EasyOCR",
        makers={"in_process": _reading},
        outline=_reading_outline("read_text"),
        example={"layout": "lines"},
    ),
    Entry(
        name="read_region",
        family="perception",
        summary="Reads the text in a region of an image",
        source="VISTA-Gym's code (easyocr, task extract_by_region); engines as for read_text",
        makers={"in_process": _reading},
        outline=_reading_outline("read_region"),
        example={"bbox_2d": [0, 0, 200, 60]},
    ),
)

_BOX: Mapping[str, Json] = {"bbox_2d": [20, 30, 120, 140]}
_IMAGES: Mapping[str, tuple[str, str, Mapping[str, Json]]] = {
    "crop": ("Cuts a region out at full resolution", "DeepEyes and CodeDance (crop)", _BOX),
    "zoom": ("Enlarges a region to the size of the image", "DeepEyes (image_zoom_in_tool)", _BOX),
    "rotate": ("Turns an image", "DeepEyes (image_rotate_tool)", {"degrees": 90}),
    "flip": ("Mirrors an image", "CodeDance (image operations by code)", {"direction": "horizontal"}),
    "contrast": ("Changes the contrast of an image", "CodeDance (image operations by code)", {"factor": 2.0}),
    "draw_boxes": (
        "Draws numbered frames on an image",
        "CodeDance (drawing to check and to count)",
        {"boxes": [[20, 30, 120, 140], [60, 60, 160, 200]]},
    ),
    "draw_points": (
        "Draws numbered dots on an image",
        "CodeDance (drawing to check and to count)",
        {"points": [[20, 30], [120, 140]]},
    ),
    "measure": ("Measures a line in an image", "Saccade's own", {"start": [20, 30], "end": [120, 140]}),
}
"""Summary, source and example of each."""


def _itself(tool: Tool) -> Tool:
    return tool


IMAGES = tuple(
    Entry(
        name=tool.name,
        family="images",
        summary=summary,
        source=source,
        makers={"in_process": ready(tool)},
        outline=partial(_itself, tool),
        example=example,
    )
    for tool in IMAGE_TOOLS
    for summary, source, example in [_IMAGES[tool.name]]
)


def _python_outline() -> Tool:
    from saccade.sandbox.sandbox import Sandbox
    from saccade.tools.catalogue.fresh_python import fresh_python_tool

    # It starts with its first session, and here there is none.
    return fresh_python_tool(Sandbox(concurrent_runs=1))


def _python(options: Options) -> Make:
    timeout_s = options.number("timeout_s", 15.0, low=0.1, high=600)
    runs = options.whole("concurrent_runs", 2, high=256)

    def make() -> Tool:
        from saccade.sandbox.sandbox import Sandbox
        from saccade.tools.catalogue.fresh_python import fresh_python_tool
        from saccade.tools.catalogue.models import shared_model

        sandbox = shared_model(("sandbox", runs), lambda: Sandbox(concurrent_runs=runs))
        sandbox.start()
        return fresh_python_tool(sandbox, timeout_s=timeout_s)

    return make


CODE = (
    Entry(
        name="execute_python_code",
        family="code",
        summary="Runs Python on an image in the sandbox, each call in a new session",
        source="CodeDance section 3 (executable code); sandbox of Saccade",
        makers={"in_process": _python},
        outline=_python_outline,
        example={"code": "print(input_image.size)"},
    ),
)
