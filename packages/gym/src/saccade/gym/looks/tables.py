"""Tables and receipts of labelled quantities, set by Typst in several styles."""

from numpy.random import Generator

from saccade.gym.grammars.quantities import QuantityState
from saccade.gym.levels import Levels
from saccade.gym.looks.typst_pages import FACES, MODULES, marked_words, set_pages, set_words
from saccade.gym.rendering import Renderer, Rendering
from saccade.gym.state import SceneState, as_state

RULES = {
    "grid": "stroke: 0.5pt",
    "rules": "stroke: (x, y) => if y <= 1 { (top: 0.8pt) } else { none }",
    "zebra": "stroke: none, fill: (x, y) => if y == 0 { {dark} } else if calc.even(y) { {light} } else { white }",
    "columns": "stroke: (x: 0.4pt + gray, bottom: 0.4pt + gray), fill: (x, y) => if x == 0 { {light} } else { white }",
}
HEAVY = 'weight: "bold"'
TINTS = (
    ("rgb(40,60,110)", "rgb(228,233,244)"),
    ("rgb(90,40,40)", "rgb(245,230,226)"),
    ("rgb(30,90,70)", "rgb(226,242,234)"),
)


def render_table(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """A table: entries are rows, measures are columns; ``print`` makes its letters smaller."""
    known = as_state(state, QuantityState)
    names = tuple(RULES)
    rule = names[int(rng.integers(len(names)))]
    dark, light = TINTS[int(rng.integers(len(TINTS)))]
    face = FACES[int(rng.integers(len(FACES)))]
    size = levels.knob("print", 13, 10, 8)
    inset = levels.knob("print", 7, 5, 3.2)
    style = 'fill: white, weight: "bold"' if rule == "zebra" else 'weight: "bold"'
    cells = [f"[{set_words(known.noun, style)}]"]
    cells += [f"[{marked_words(f'measure:{i}', m.name, style)}]" for i, m in enumerate(known.measures)]
    for entry, name in enumerate(known.entries):
        cells.append(f"[{marked_words(f'entry:{entry}', name)}]")
        cells += [f"[{marked_words(f'value:{entry}:{i}', m.text(entry))}]" for i, m in enumerate(known.measures)]
    ruling = RULES[rule].replace("{dark}", dark).replace("{light}", light)
    columns = len(known.measures) + 1
    title = f"#align(center)[{marked_words('title', known.title, HEAVY)}]\n" if known.title else ""
    source = (
        f'#set page(margin: 22pt, fill: white)\n#set text(font: "{face}", size: {size}pt)\n{title}'
        f"#align(center, table(columns: {columns}, inset: {inset}pt, align: (left,) + (right,) * {columns - 1}, "
        f"{ruling},\n"
        f"{', '.join(cells)}))"
    )
    return set_pages(source, width=known.width, height=None)


def render_receipt(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """A till receipt: the prices of items, and what a till prints around them."""
    known = as_state(state, QuantityState)
    size = levels.knob("print", 11, 9, 7.5)
    rows = []
    for entry, name in enumerate(known.entries):
        price = marked_words(f"value:{entry}:0", known.measures[0].text(entry))
        rows.append(f"[{marked_words(f'entry:{entry}', name)}], [{price}]")
    lines = [f"[{set_words(key)}], [{marked_words(key, value)}]" for key, value in known.printed.items()]
    shop = known.title or "Shop"
    rule = '#line(length: 100%, stroke: (thickness: 0.6pt, dash: "dashed"))'
    tint = int(rng.integers(236, 256))
    source = (
        f"#set page(margin: (x: 16pt, y: 20pt), fill: rgb({tint},{tint},{tint - 4}))\n"
        f'#set text(font: "DejaVu Sans Mono", size: {size}pt)\n#set par(leading: 4pt, spacing: 7pt)\n'
        f"#align(center)[{marked_words('title', shop, f'size: {size + 5}pt')}]\n{rule}\n"
        f"#grid(columns: (1fr, auto), row-gutter: 5pt, align: (left, right), {', '.join(rows)})\n{rule}\n"
        f"#grid(columns: (1fr, auto), row-gutter: 5pt, align: (left, right), {', '.join(lines)})\n{rule}\n"
        "#align(center)[Thank you]"
    )
    return set_pages(source, width=known.width, height=None)


TABLE = Renderer(name="typst", render=render_table, axes=("print",), extra="gym", modules=MODULES)
RECEIPT = Renderer(name="till", render=render_receipt, axes=("print",), extra="gym", modules=MODULES)
