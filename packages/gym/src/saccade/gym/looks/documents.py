"""Documents of several pages, set by Typst."""

from functools import partial

from numpy.random import Generator

from saccade.gym.grammars.documents import FILLERS, DocumentState
from saccade.gym.levels import Levels
from saccade.gym.looks.typst_pages import FACES, MODULES, marked_words, set_pages
from saccade.gym.rendering import Renderer, Rendering
from saccade.gym.state import SceneState, as_state


def render_document(state: SceneState, rng: Generator, levels: Levels, *, columns: int = 1) -> Rendering:
    """Numbered sections with prose, and the number of each page at its foot; ``print`` makes letters smaller."""
    known = as_state(state, DocumentState)
    face = FACES[int(rng.integers(2))]
    size = levels.knob("print", 11.5, 10.5, 9.5)
    pages: list[str] = []
    for page in range(known.views):
        parts = []
        for index, fact in enumerate(known.facts):
            if fact.page != page:
                continue
            prose = [FILLERS[which] for which in known.fillers[index]]
            middle = len(prose) // 2
            told = (
                f"It was begun by {marked_words(f'builder:{index}', fact.builder)} and opened in "
                f"{marked_words(f'year:{index}', str(fact.year))} at a cost of "
                f"{marked_words(f'cost:{index}', str(fact.cost))} crowns."
            )
            heading = marked_words(f"heading:{index}", fact.heading, 'weight: "bold", size: 1.15em')
            parts.append(
                f"{index + 1}#h(0pt). {heading}\n\n{' '.join(prose[:middle])} {told} {' '.join(prose[middle:])}\n"
            )
        if columns > 1:
            parts.insert((len(parts) + 1) // 2, "#colbreak()\n")
        across = ', scope: "parent", float: true' if columns > 1 else ""
        foot = f"#place(bottom + center{across}, dy: 18pt)[{marked_words(f'page:{page}', str(page + 1))}]"
        pages.append("\n".join([*parts, foot]))
    source = (
        f'#set page(margin: 36pt, fill: white, columns: {columns})\n#set text(font: "{face}", size: {size}pt)\n'
        "#set par(justify: true, leading: 0.6em, spacing: 1em)\n" + "\n#pagebreak()\n".join(pages)
    )
    return set_pages(source, width=known.width, height=known.height)


COLUMNS = Renderer(
    name="columns", render=partial(render_document, columns=2), axes=("print",), extra="gym", modules=MODULES
)
PAGES = Renderer(name="pages", render=render_document, axes=("print",), extra="gym", modules=MODULES)
