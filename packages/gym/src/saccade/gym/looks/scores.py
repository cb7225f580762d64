"""Scores engraved by verovio, in engraved and handwritten fonts; Agg makes pixels of its SVG.

Notes and rests have their own ids in what verovio is given (MEI), and keep them in its SVG.
"""

from functools import cache, partial
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from numpy.random import Generator

from saccade.gym.grammars.scores import ScoreState
from saccade.gym.levels import Levels
from saccade.gym.looks.svg import MODULES, draw_svg
from saccade.gym.rendering import Renderer, Rendering
from saccade.gym.state import Element, SceneState, as_state

if TYPE_CHECKING:
    from verovio import toolkit

LENGTHS = {
    "whole": 'dur="1"',
    "half": 'dur="2"',
    "dotted quarter": 'dur="4" dots="1"',
    "quarter": 'dur="4"',
    "eighth": 'dur="8"',
}
SHAPES = {"treble": 'clef.shape="G" clef.line="2"', "bass": 'clef.shape="F" clef.line="4"'}
SIGNS = {"clef": "clef", "keySig": "key", "meterSig": "meter"}
"""Elements by verovio's classes; where several lines of music repeat one, the first is meant."""

ENGRAVED, BY_HAND = ("Leipzig", "Leland", "Bravura"), ("Petaluma",)


def render_score(state: SceneState, rng: Generator, levels: Levels, *, fonts: tuple[str, ...]) -> Rendering:
    """As many lines of music as the measures need; ``print`` makes them smaller."""
    known = as_state(state, ScoreState)
    scale = levels.whole("print", 52, 42, 32)
    maker = _toolkit()
    maker.setOptions(
        {
            "font": fonts[int(rng.integers(len(fonts)))],
            "scale": scale,
            "pageWidth": known.width * 100 // scale,
            "pageHeight": 60000,
            "adjustPageHeight": True,
            "breaks": "auto",
            "header": "none",
            "footer": "none",
            "mnumInterval": 0,
            "spacingSystem": 8,
            "xmlIdSeed": 1,
        }
    )
    maker.loadData(_mei(known))
    root, names = _svg_with_ids(maker.renderToSVG(1), known)
    picture = draw_svg(root, names)
    return Rendering(images=(picture.image,), regions=picture.regions)


@cache
def _toolkit() -> "toolkit":
    import verovio

    verovio.enableLog(verovio.LOG_OFF)
    return verovio.toolkit()


def _mei(state: ScoreState) -> str:
    measures = []
    for measure in range(1, state.measures + 1):
        inside = "".join(_note(one) for one in state.elements if one.numbers.get("measure") == measure)
        measures.append(f'<measure n="{measure}"><staff n="1"><layer n="1">{inside}</layer></staff></measure>')
    count, _, unit = state.meter.partition("/")
    signs = f"{abs(state.signature)}{'s' if state.signature > 0 else 'f'}" if state.signature else "0"
    return (
        '<mei xmlns="http://www.music-encoding.org/ns/mei" meiversion="5.0"><meiHead><fileDesc><titleStmt><title/>'
        "</titleStmt><pubStmt/></fileDesc></meiHead><music><body><mdiv><score>"
        f'<scoreDef meter.count="{count}" meter.unit="{unit}" keysig="{signs}"><staffGrp><staffDef n="1" lines="5" '
        f"{SHAPES[state.clef]}/></staffGrp></scoreDef><section>{''.join(measures)}</section></score></mdiv></body>"
        "</music></mei>"
    )


def _note(one: Element) -> str:
    length = LENGTHS[one.attributes["value"]]
    if one.kind == "rest":
        return f'<rest xml:id="{one.id}" {length}/>'
    octave = int(one.numbers["height"]) // 7
    sign = f' accid="{one.attributes["sign"][0]}"' if one.get("sign") else ""
    return f'<note xml:id="{one.id}" pname="{one.attributes["letter"].lower()}" oct="{octave}" {length}{sign}/>'


def _svg_with_ids(svg: str, state: ScoreState) -> tuple[ElementTree.Element, dict[str, str]]:
    """The elements by the ids of the SVG."""
    root = ElementTree.fromstring(svg)
    names = {one.id: one.id for one in state.elements if one.kind != "sign"}
    for part in root.iter():
        kind = part.get("class", "")
        if kind in SIGNS and SIGNS[kind] not in names.values():
            names[part.get("id", "")] = SIGNS[kind]
    return root, names


NEEDED = ("verovio", *MODULES)
PRINTED = Renderer(
    name="engraved", render=partial(render_score, fonts=ENGRAVED), axes=("print",), extra="gym", modules=NEEDED
)
HANDWRITTEN = Renderer(
    name="handwritten", render=partial(render_score, fonts=BY_HAND), axes=("print",), extra="gym", modules=NEEDED
)
