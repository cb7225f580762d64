"""Forms on paper by Typst, and screens with switches on a sheet."""

from numpy.random import Generator

from saccade.gym.grammars.fields import ON, FieldsState
from saccade.gym.levels import Levels
from saccade.gym.looks import sheets
from saccade.gym.looks.typst_pages import FACES, MODULES, marked_words, set_pages
from saccade.gym.rendering import Renderer, Rendering
from saccade.gym.state import SceneState, as_state

BOX = 'box(width: 8pt, height: 8pt, stroke: 0.7pt, inset: 0pt, align(center + horizon, text(size: 8pt, "{mark}")))'
THEMES = (
    {
        "ground": "#f3f4f6",
        "card": "#ffffff",
        "ink": "#1f2937",
        "faint": "#6b7280",
        "accent": "#2563eb",
        "rule": "#e5e7eb",
    },
    {
        "ground": "#111827",
        "card": "#1f2937",
        "ink": "#f3f4f6",
        "faint": "#9ca3af",
        "accent": "#10b981",
        "rule": "#374151",
    },
    {
        "ground": "#fdf6ec",
        "card": "#fffdf9",
        "ink": "#3b2f2f",
        "faint": "#8a7a6a",
        "accent": "#c2410c",
        "rule": "#eadfce",
    },
)


def render_form(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """A form on paper: labels, ruled lines with what was written on them, boxes to tick."""
    known = as_state(state, FieldsState)
    face = FACES[int(rng.integers(len(FACES)))]
    size = levels.knob("print", 12, 10, 8)
    parts = []
    for which, section in enumerate(known.sections):
        rows = []
        for index, field in enumerate(known.fields):
            if field.section != section:
                continue
            label = f"[{marked_words(f'label:{index}', field.label)}]"
            if field.kind == "tick":
                mark = "×" if field.value == ON else " "
                rows.append(f'{label}, el("value:{index}", {BOX.replace("{mark}", mark)})')
            else:
                written = marked_words(f"value:{index}", field.value or " " * 12)
                rows.append(
                    f"{label}, box(width: 100%, stroke: (bottom: 0.5pt + gray), inset: (bottom: 2pt), [{written}])"
                )
        heading = marked_words(f"section:{which}", section, 'weight: "bold"')
        parts.append(
            f"#v(6pt)\n{heading}\n#line(length: 100%, stroke: 0.4pt)\n"
            f"#grid(columns: (36%, 1fr), row-gutter: 7pt, column-gutter: 8pt, {', '.join(rows)})"
        )
    source = (
        f'#set page(margin: 34pt, fill: white)\n#set text(font: "{face}", size: {size}pt)\n#set par(spacing: 7pt)\n'
        f"#align(center)[{marked_words('title', known.title, f'size: {size + 6}pt')}]\n" + "\n".join(parts)
    )
    return set_pages(source, width=known.width, height=None)


def render_screen(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """A window with cards: rows with switches and values, in two columns."""
    known = as_state(state, FieldsState)
    theme = THEMES[int(rng.integers(len(THEMES)))]
    size = levels.knob("print", 15, 13, 11)
    sheet = sheets.Sheet(known.width, known.height, theme["ground"])
    sheet.rect("", 0, 0, known.width, 46, fill=theme["card"])
    for at, colour in enumerate(("#ef4444", "#f59e0b", "#22c55e")):
        sheet.circle("", 20 + 20 * at, 23, 6, fill=colour)
    sheet.text("title", known.title, known.width / 2, 23, size + 2, fill=theme["ink"], is_bold=True)
    tops = [62.0, 62.0]
    wide, row = (known.width - 60) / 2, size * 2.1
    for which, section in enumerate(known.sections):
        rows = [(i, field) for i, field in enumerate(known.fields) if field.section == section]
        column = int(tops[1] < tops[0])
        left, top = 20 + column * (wide + 20), tops[column]
        high = row * (len(rows) + 1) + 10
        tops[column] += high + 14
        sheet.rect("", left, top, wide, high, fill=theme["card"], stroke=theme["rule"], rx=8)
        sheet.text(
            f"section:{which}",
            section,
            left + 14,
            top + row * 0.6,
            size,
            anchor="start",
            fill=theme["accent"],
            is_bold=True,
        )
        for at, (index, field) in enumerate(rows):
            y = top + row * (at + 1.4)
            sheet.line("", [(left + 12, y - row / 2), (left + wide - 12, y - row / 2)], stroke=theme["rule"])
            sheet.text(f"label:{index}", field.label, left + 14, y, size, anchor="start", fill=theme["ink"])
            right = left + wide - 14
            if field.kind == "tick":
                _switch(sheet, f"value:{index}", right, y, size, theme, is_on=field.value == ON)
            elif field.value:
                sheet.text(f"value:{index}", field.value, right, y, size, anchor="end", fill=theme["faint"])
            else:
                sheet.line(
                    f"value:{index}",
                    [(right - 40, y + size / 2), (right, y + size / 2)],
                    stroke=theme["faint"],
                    width=2,
                )
    return sheet.rendering()


def _switch(
    sheet: sheets.Sheet, element: str, right: float, y: float, size: float, theme: dict[str, str], *, is_on: bool
) -> None:
    """A switch: filled and its knob to the right where it is on."""
    wide, high = size * 2.2, size * 1.2
    fill = theme["accent"] if is_on else theme["rule"]
    sheet.rect(element, right - wide, y - high / 2, wide, high, rx=high / 2, fill=fill, stroke=theme["faint"])
    knob = right - high / 2 if is_on else right - wide + high / 2
    sheet.circle(element, knob, y, high / 2 - 2, fill="#ffffff", stroke=theme["faint"])


FORM = Renderer(name="paper", render=render_form, axes=("print",), extra="gym", modules=MODULES)
SCREEN = Renderer(name="screen", render=render_screen, axes=("print",), extra="gym", modules=sheets.MODULES)
