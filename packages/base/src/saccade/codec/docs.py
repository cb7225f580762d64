"""Texts under the fields of dataclasses, as settings and messages have them."""

import ast
import dataclasses
import inspect
import itertools
import textwrap


def field_docs(kind: type) -> dict[str, str]:
    """The text under each field of a dataclass, its bases' included, on one line each."""
    found: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        if dataclasses.is_dataclass(one):
            found |= _own_field_docs(one)
    return found


def _own_field_docs(kind: type) -> dict[str, str]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError, SyntaxError):
        # A class made at run time has no source.
        return {}
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    docs: dict[str, str] = {}
    for field, below in itertools.pairwise(body):
        if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
            continue
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str):
            docs[field.target.id] = " ".join(below.value.value.split())
    return docs
