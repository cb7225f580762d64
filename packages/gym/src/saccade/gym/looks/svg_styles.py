"""Style sheets inside SVGs, as far as drawing libraries write them: descendants, classes, ids, attributes, ``:not``."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from xml.etree import ElementTree

PROPERTIES = frozenset({
    *("fill", "stroke", "fill-opacity", "stroke-opacity", "stroke-width", "stroke-dasharray", "stroke-linecap"),
    *("stroke-linejoin", "font-size", "font-family", "font-weight", "text-anchor", "dominant-baseline", "color"),
    *("visibility", "opacity", "display"),
})  # fmt: skip
"""What a style may say here; all else is not drawn."""

_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_PART = re.compile(r"([#.]?)([-\w]+|\*)|\[([-\w]+)\]|:not\(\.([-\w]+)\)|(:)")


@dataclass(frozen=True, kw_only=True, slots=True)
class StyledPart:
    """What selectors see of an element."""

    tag: str
    identity: str
    classes: frozenset[str]
    attributes: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Simple:
    tag: str = ""
    identity: str = ""
    classes: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()
    is_child: bool = False
    """Whether what stands before it must be its parent."""

    def fits(self, part: StyledPart) -> bool:
        return (
            self.tag in ("", part.tag)
            and self.identity in ("", part.identity)
            and self.classes <= part.classes
            and not self.excluded & part.classes
            and all(name in part.attributes for name in self.attributes)
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class _StyleRule:
    parts: tuple[_Simple, ...]
    weight: tuple[int, int, int, int]
    declared: Mapping[str, str]
    important: Mapping[str, str]

    def fits(self, chain: Sequence[StyledPart]) -> bool:
        """Whether it is about the last of a chain of elements, each inside the one before."""
        if not self.parts[-1].fits(chain[-1]):
            return False
        at = len(chain) - 1
        for simple, inside in zip(self.parts[-2::-1], self.parts[:0:-1]):
            at -= 1
            while at >= 0 and not inside.is_child and not simple.fits(chain[at]):
                at -= 1
            if at < 0 or not simple.fits(chain[at]):
                return False
        return True


_SeenPart = tuple[str, str, frozenset[str], frozenset[str]]
"""What rules may tell elements apart by: tag, identity, classes, names of attributes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StyleSheet:
    """All rules of an SVG, found by what their last part asks for."""

    rules: Mapping[str, tuple[_StyleRule, ...]] = field(default_factory=dict)
    identities: frozenset[str] = frozenset()
    """That rules ask for."""
    attributes: frozenset[str] = frozenset()
    """Whose names rules ask for."""
    _known: dict[tuple[_SeenPart, ...], Mapping[str, str]] = field(default_factory=dict, compare=False)
    """What was said of chains that no rule tells apart: most marks of a chart are such."""

    def declarations_of(self, chain: Sequence[StyledPart]) -> Mapping[str, str]:
        """What the rules say of the last of a chain of elements, each inside the one before."""
        seen = tuple(self._as_seen_part(part) for part in chain)
        known = self._known.get(seen)
        if known is None:
            known = self._known[seen] = self._declarations_for(chain)
        return known

    def _as_seen_part(self, part: StyledPart) -> _SeenPart:
        identity = part.identity if part.identity in self.identities else ""
        return (part.tag, identity, part.classes, self.attributes.intersection(part.attributes))

    def _declarations_for(self, chain: Sequence[StyledPart]) -> Mapping[str, str]:
        part = chain[-1]
        keys = (*sorted(part.classes), part.tag, "*")
        found = [rule for key in keys for rule in self.rules.get(key, ()) if rule.fits(chain)]
        found.sort(key=lambda rule: rule.weight)
        told: dict[str, str] = {}
        for rule in found:
            told |= rule.declared
        for rule in found:
            told |= rule.important
        return told


def style_sheet(root: ElementTree.Element) -> StyleSheet:
    """The sheet of all ``style`` elements below an element."""
    return _parse_style_sheet(
        "".join(part.text or "" for part in root.iter() if part.tag.rpartition("}")[2] == "style")
    )


@lru_cache(maxsize=64)
def _parse_style_sheet(text: str) -> StyleSheet:
    rules: dict[str, list[_StyleRule]] = {}
    for order, (selectors, body) in enumerate(_RULE.findall(text)):
        said = dict(declarations(body))
        if not said:
            continue
        strict = {name: value.removesuffix("!important").strip() for name, value in said.items() if "!" in value}
        loose = {name: value for name, value in said.items() if name not in strict}
        for selector in selectors.split(","):
            parts = _parts(selector)
            if parts is None:
                continue
            weight = (
                sum(bool(one.identity) for one in parts),
                sum(len(one.classes) + len(one.attributes) + len(one.excluded) for one in parts),
                sum(bool(one.tag) for one in parts),
                order,
            )
            last = parts[-1]
            key = min(last.classes, default="") or last.tag or "*"
            rules.setdefault(key, []).append(_StyleRule(parts=parts, weight=weight, declared=loose, important=strict))
    simple = [one for found in rules.values() for rule in found for one in rule.parts]
    return StyleSheet(
        rules={key: tuple(found) for key, found in rules.items()},
        identities=frozenset(one.identity for one in simple),
        attributes=frozenset(name for one in simple for name in one.attributes),
    )


def declarations(text: str) -> Iterator[tuple[str, str]]:
    """Properties that are drawn, of ``name:value;name:value``."""
    for piece in text.split(";"):
        name, colon, value = piece.partition(":")
        if colon and (name := name.strip()) in PROPERTIES:
            yield name, value.strip()


@lru_cache(maxsize=1024)  # charts differ in colours and sizes, not in what has them
def _parts(selector: str) -> tuple[_Simple, ...] | None:
    """The parts of a selector; None for one that waits for a mouse or a reader."""
    found: list[_Simple] = []
    is_child = False
    for word in selector.replace(">", " > ").split():
        if word == ">":
            is_child = True
            continue
        names: dict[str, list[str]] = {"": [], "#": [], ".": [], "[": [], "not": []}
        for sign, name, attribute, excluded, colon in _PART.findall(word):
            if colon:
                return None
            kind = "[" if attribute else "not" if excluded else sign
            names[kind].append(attribute or excluded or name)
        found.append(
            _Simple(
                tag="".join(name for name in names[""] if name != "*"),
                identity="".join(names["#"]),
                classes=frozenset(names["."]),
                attributes=frozenset(names["["]),
                excluded=frozenset(names["not"]),
                is_child=is_child,
            )
        )
        is_child = False
    return tuple(found) or None
