"""Chat templates of checkpoints, rendered to the bytes that transformers gives, and with bounds.

They are programs of others: one that has used up its units (``template_units``) ends with ``TemplateLimitError``. An
honest one uses a few hundredths of them.
"""

import json
from collections.abc import Collection, Mapping
from datetime import datetime
from functools import lru_cache
from threading import Lock
from typing import Any

from jinja2 import Template, nodes
from jinja2.exceptions import SecurityError, TemplateError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.utils import Namespace
from transformers import PreTrainedTokenizerFast

from saccade.models.bounded_jinja import BoundedEnvironment
from saccade.models.chat import TemplateLimitError
from saccade.models.token_bytes import TokenBytes

MAX_CHARACTERS = 1 << 16
"""Of a template; published ones have up to 20,000."""


class TemplateTokenizer:
    """A tokenizer whose chat template is rendered with bounds, for a model with so many tokens."""

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerFast,
        *,
        vocabulary: int,
        written_image: str = "",
        image_token: str = "",
        spelled: Collection[int] = (),
    ) -> None:
        """``image_token`` stands in what is rendered for each ``written_image`` of the template. Added tokens beyond
        the ``vocabulary``, and those of ``spelled``, are written in pieces."""
        self._tokenizer = tokenizer
        self._image = written_image, image_token
        self._bytes = TokenBytes(tokenizer)
        self._spelled: dict[int, list[int]] = {}
        for token, index in tokenizer.get_added_vocab().items():
            if index >= vocabulary or index in spelled:
                # In two pieces it is a text as any other.
                self._spelled[index] = [
                    one for piece in (token[:1], token[1:]) for one in self.encode(piece, add_special_tokens=False)
                ]

    @property
    def vocabulary(self) -> dict[str, int]:
        """All tokens with their ids, special ones too."""
        return dict(self._tokenizer.get_vocab())

    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        """Ids of a text; added tokens without weights of their own are spelled."""
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=add_special_tokens)
        return [one for token in ids for one in self._spelled.get(token, (token,))] if self._spelled else ids

    def apply_chat_template(
        self,
        conversation: list[dict[str, object]],
        *,
        tools: list[dict[str, object]] | None = None,
        tokenize: bool,
        add_generation_prompt: bool,
    ) -> str:
        """The text, as transformers' method of this name gives it. Raises as ``BoundedTemplate.render``."""
        assert not tokenize
        rendered = bounded_template(self._tokenizer.get_chat_template()).render(
            {
                "messages": conversation,
                "tools": tools,
                "documents": None,
                "add_generation_prompt": add_generation_prompt,
                **self._tokenizer.special_tokens_map,
            }
        )
        return rendered.replace(*self._image) if self._image[0] else rendered

    def decode(self, token_ids: list[int], *, skip_special_tokens: bool = False) -> str:
        """The text of ids; a character that is not whole is written as U+FFFD."""
        if self._bytes.is_byte_level or skip_special_tokens:
            return str(self._tokenizer.decode(token_ids, skip_special_tokens=skip_special_tokens))
        # The tokenizer's own would lose whole characters that stand beside a broken one.
        return b"".join(self._bytes[token] for token in token_ids).decode("utf-8", "replace")


class BoundedTemplate:
    """A compiled template, for one render at a time."""

    def __init__(self, source: str) -> None:
        if len(source) > MAX_CHARACTERS:
            raise TemplateLimitError(
                f"the checkpoint's chat template has {len(source):,} characters, over {MAX_CHARACTERS:,}; use the "
                "template of the instruct model of this family, or one of your own (model.chat_template)"
            )
        environment = BoundedEnvironment([_Generation, loopcontrols])
        environment.globals |= {"raise_exception": _raise, "strftime_now": _now}
        environment.globals |= {"dict": _Dictionary(), "namespace": _Names}
        environment.filters["tojson"] = _to_json
        code = environment.compile(environment.charged_template(environment.parse(source)))
        self._template = Template.from_code(environment, code, environment.make_globals(None))
        self._units = environment.units
        self._lock = Lock()

    def render(self, variables: Mapping[str, object]) -> str:
        """The text; raises ``TemplateLimitError`` when it takes too much, and whatever the template raises."""
        with self._lock:
            self._units.begin(variables)
            return self._template.render(variables)


@lru_cache(maxsize=32)
def bounded_template(source: str) -> BoundedTemplate:
    """The template compiled, once for each text."""
    return BoundedTemplate(source)


class _Generation(Extension):
    """``{% generation %}``, which marks what a model has said, and renders it."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        return nodes.Scope(list(parser.parse_statements(("name:endgeneration",), drop_needle=True)), lineno=line)


class _Dictionary:
    """``dict`` of a template, with nothing of the class itself."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any) -> dict[Any, Any]:
        return dict.fromkeys(*args)


class _Names(Namespace):
    """``namespace`` of a template, without names that Python itself uses."""

    def __init__(*args: Any, **kwargs: Any) -> None:
        self, *given = args
        values = dict(*given, **kwargs)
        for name in values:
            _check_name(name)
        Namespace.__init__(self, values)

    def __setitem__(self, name: str, value: Any) -> None:
        _check_name(name)
        super().__setitem__(name, value)


def _check_name(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"a template sets no name that begins with an underscore, such as {name[:80]!r}")


def _raise(message: object) -> None:
    raise TemplateError(str(message))


def _now(form: str) -> str:
    if len(form) > 1000:
        raise SecurityError("a form of a date of more than 1,000 characters is not rendered")
    return datetime.now().strftime(form)


def _to_json(
    value: object,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
