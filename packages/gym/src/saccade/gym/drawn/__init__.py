"""Families that are one function each: ``draw_NAME`` of a module here draws the scene and asks about it.

Each is imported when it is first asked for, so that a list of names costs nothing.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module

from saccade.tasks.scene import FamilyFunction


class OnUse(Mapping[str, FamilyFunction]):
    """Families by name, of the modules that are given."""

    def __init__(self, homes: Mapping[str, str]) -> None:
        """``homes`` has the module of each name."""
        self.homes = homes

    def __getitem__(self, name: str) -> FamilyFunction:
        draw: FamilyFunction = getattr(import_module(f"{__name__}.{self.homes[name]}"), f"draw_{name}")
        return draw

    def __iter__(self) -> Iterator[str]:
        return iter(self.homes)

    def __len__(self) -> int:
        return len(self.homes)


FAMILIES = OnUse(
    {
        "visual_search": "plates",
        "attributes": "attributes",
        "counting": "counting",
        "spatial_relation": "spatial_relation",
        "chart_bars": "chart_bars",
        "chart_lines": "chart_lines",
        "chart_pie": "chart_pie",
        "table_lookup": "tables",
        "document_text": "document_text",
        "geometry_angle": "angles",
        "geometry_length": "scale_bar",
        "map_regions": "map_regions",
        "video_event": "video_event",
    }
)
"""Families whose experts use the image tools."""

CODE_FAMILIES = OnUse(
    {
        "colour_dots": "counting",
        "scale_bar": "scale_bar",
        "colour_bars": "chart_bars",
        "dot_table": "tables",
        "big_shape": "attributes",
    }
)
"""Families whose experts write code; it pays in all but the last, where a glance is enough."""

NAMED_FAMILIES = OnUse({"plate_mark": "plates", "plate_pair": "plates"})
"""Families whose every object is named, for rewards that hold texts against the picture; one turn is enough."""

POINTED_FAMILIES = OnUse(dict.fromkeys(("plate_absent", "plate_relation", "plate_count"), "plate_relations"))
"""Further questions on such pictures, whose experts point (``gym/pointing.py``)."""

PAGE_FAMILIES = OnUse(dict.fromkeys(("page_mark", "page_pair", "page_cross"), "pages"))
"""Questions on documents of twelve pages, of which a retriever brings some."""

SOLVER_FAMILIES = OnUse({"triangle_angles": "angles", "geometry_problem": "geometry_problem"})
"""Families whose experts call a geometry solver."""

TOOL_FAMILIES = OnUse({"placed_shapes": "attributes", "table_sums": "tables"})
"""Other families whose experts call one of the catalogue's tools after another."""

LESSON_FAMILIES = OnUse(
    dict.fromkeys(("finding_colours", "finding_shapes", "finding_words", "finding_lines"), "finding")
)
"""Families of perception lessons for a model with random weights; they need no tool."""

READING_FAMILIES = OnUse(dict.fromkeys(("reading_digits", "reading_print"), "reading"))
"""Families of lessons in reading large print; they need no tool."""

ALL_FAMILIES = OnUse(
    {
        **FAMILIES.homes,
        **CODE_FAMILIES.homes,
        **NAMED_FAMILIES.homes,
        **POINTED_FAMILIES.homes,
        **PAGE_FAMILIES.homes,
        **SOLVER_FAMILIES.homes,
        **TOOL_FAMILIES.homes,
        **LESSON_FAMILIES.homes,
        **READING_FAMILIES.homes,
    }
)
