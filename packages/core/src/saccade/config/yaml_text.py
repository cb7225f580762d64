"""YAML that somebody else may have written: its nodes are counted while they are made, those behind aliases too.

A few hundred bytes can name each other in turn so that the whole is of millions of nodes, or stand inside themselves.
"""

import yaml
from yaml.composer import ComposerError

from saccade.types import Json

MAX_NODES = 10_000
"""Of a document, each alias counted as all that it stands for. The largest recipe has some hundred."""
MAX_LEVELS = 50


def yaml_root(text: str) -> yaml.Node | None:
    """The node of a text's document, None of an empty one; yaml.YAMLError, with the line, for all that is none."""
    loader = _CountingLoader(text)
    try:
        return loader.get_single_node()
    finally:
        loader.dispose()


def yaml_value(text: str) -> Json:
    """The value of a text's document; ValueError. Of a key that stands twice the last one counts."""
    try:
        # Of plain values alone, as SafeLoader makes them.
        value: Json = yaml.load(text, Loader=_CountingLoader)
    except (yaml.YAMLError, KeyError, RecursionError) as error:
        raise ValueError(" ".join(str(error).split())) from None
    return value


class _CountingLoader(yaml.SafeLoader):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._whole: dict[int, tuple[int, int]] = {}
        """Nodes and levels of each node that is whole, by its identity: the document holds them all."""
        self._nodes, self._level, self._deepest = 0, 0, 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        is_alias = self.check_event(yaml.AliasEvent)
        before, outer = self._nodes, self._deepest
        self._level += 1
        self._nodes += not is_alias
        self._deepest = self._level
        self._check(mark)
        node = super().compose_node(parent, index)
        if is_alias:
            if id(node) not in self._whole:
                raise ComposerError(None, None, "an alias stands inside of what it stands for", mark)
            nodes, levels = self._whole[id(node)]
            self._nodes += nodes
            self._deepest += levels
            self._check(mark)
        else:
            self._whole[id(node)] = self._nodes - before, self._deepest - self._level
        self._level -= 1
        self._deepest = max(outer, self._deepest)
        return node

    def _check(self, mark: yaml.Mark) -> None:
        if self._nodes > MAX_NODES:
            raise ComposerError(None, None, f"more than {MAX_NODES} values, those behind aliases counted", mark)
        if self._deepest > MAX_LEVELS:
            raise ComposerError(None, None, f"values inside each other in more than {MAX_LEVELS} levels", mark)
