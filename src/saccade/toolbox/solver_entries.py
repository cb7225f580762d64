"""Solvers: geometry and algebra that work offline, and models that were trained on mathematics."""

from collections.abc import Callable

from saccade.specialists.contract import VisionModel
from saccade.toolbox.entries import Entry, Make, Makers, Prepare
from saccade.toolbox.models import local_vision_model, patience_s, server_vision_model
from saccade.toolbox.options import Options
from saccade.tools.contract import Tool, find_tool


def on_vision_model(make_tool: Callable[[VisionModel, float], Tool], *, example: str) -> Makers:
    """The back ends ``openai`` and ``transformers`` of a tool that asks a vision-language model."""

    def at_server(options: Options) -> Make:
        model, deadline_s = server_vision_model(options, example=example), patience_s(options)
        return lambda: make_tool(model(), deadline_s)

    def here(options: Options) -> Make:
        model, deadline_s = local_vision_model(options), patience_s(options)
        return lambda: make_tool(model(), deadline_s)

    return {"openai": at_server, "transformers": here}


def _geometry(name: str) -> Prepare:
    def prepare(options: Options) -> Make:
        options.need_package("sympy", 'pip install "saccade[geometry]"')

        def make() -> Tool:
            from saccade.tools.geometry.tools import GEOMETRY_TOOLS

            return find_tool(name, GEOMETRY_TOOLS)

        return make

    return prepare


def _g_llava(model: VisionModel, deadline_s: float) -> Tool:
    from saccade.tools.experts.solvers import g_llava_tool

    return g_llava_tool(model, deadline_s=deadline_s)


def _multimath(model: VisionModel, deadline_s: float) -> Tool:
    from saccade.tools.experts.solvers import multimath_tool

    return multimath_tool(model, deadline_s=deadline_s)


_GEOMETRY = {
    "solve_geometry": (
        "Solves a problem in Inter-GPS logic forms, with its steps, or says that it is not determined",
        "VISTA-Gym appendix B (Inter-GPS); solver of Saccade",
    ),
    "solve_cdl": (
        "Solves a problem in CDL, with its steps, or says that it is not determined",
        "VISTA-Gym appendix B (CDL for symbolic solvers; FormalGeo's language); solver of Saccade",
    ),
    "check_logic_forms": (
        "Says what was understood of logic forms, or the first mistake in them",
        "VISTA-Gym's code (intergps, task verify); parser of Saccade",
    ),
    "translate_geometry": ("Translates a problem between logic forms and CDL", "Saccade's own"),
    "algebra": (
        "Solves equations exactly; simplifies, expands, factors, evaluates",
        "VISTA-Gym's code (sympy_geometry); sympy",
    ),
}

SOLVERS = (
    *(
        Entry(
            name=name,
            family="solvers",
            summary=summary,
            source=source,
            makers={"in_process": _geometry(name)},
        )
        for name, (summary, source) in _GEOMETRY.items()
    ),
    Entry(
        name="g_llava",
        family="solvers",
        summary="Asks a model trained on geometry to solve or analyse a problem",
        source="VISTA-Gym appendix B (G-LLaVA)",
        makers=on_vision_model(_g_llava, example="g-llava-13b"),
    ),
    Entry(
        name="multimath",
        family="solvers",
        summary="Asks a model trained on mathematics to solve or explain a problem",
        source="VISTA-Gym appendix B (MultiMath)",
        makers=on_vision_model(_multimath, example="multimath-7b"),
    ),
)
