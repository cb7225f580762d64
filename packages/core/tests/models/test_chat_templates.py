"""Chat templates of others: published ones give what transformers gives, and hostile ones end soon and in words."""

import resource
import shutil
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from transformers.utils.chat_template_utils import render_jinja_template

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.chat import TemplateLimitError
from saccade.models.chat_templates import BoundedTemplate
from saccade.models.checkpoint import SHIPPED
from saccade.models.loading import load_model
from saccade.models.template_units import UNITS
from saccade.types import Message

PUBLISHED = {
    **{one.name: one.read_text() for one in (files("trl") / "chat_templates").iterdir() if one.name.endswith(".jinja")},
    **{name: (path / "chat_template.jinja").read_text() for name, path in SHIPPED.items()},
}
IMAGE, TOKENS = {"type": "image"}, {"bos_token": "<s>", "eos_token": "</s>"}
CALL = {
    "type": "function",
    "id": "abcdefghi",
    "function": {"name": "crop", "arguments": {"box": [1, 2.5], "of": {"é": None}}},
}
CROP = {
    "name": "crop",
    "description": "Crops.",
    "parameters": {
        "type": "object",
        "properties": {"box": {"type": "array", "items": {"type": "number"}}, "label": {"type": ["string", "null"]}},
        "required": ["box"],
    },
}


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


CONVERSATIONS: list[list[dict[str, object]]] = [
    [{"role": "user", "content": [IMAGE, text("What is <b> é漢?\n")]}],
    [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [text("a"), IMAGE, IMAGE]},
        {"role": "assistant", "content": "<think>hm</think>one"},
        {"role": "tool", "content": [IMAGE, text("two")]},
    ],
    [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "name": "crop", "content": "done", "tool_call_id": "abcdefghi"},
    ],
    [{"role": ("user", "assistant")[turn % 2], "content": f"{turn} " + "word " * 40} for turn in range(30)],
    [{"role": "unheard", "content": [text("of")]}],
]


def rendered(render: Callable[..., str], **variables: object) -> str:
    """The text, or what is raised instead."""
    try:
        return render(**variables)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def theirs(source: str, messages: list[dict[str, object]], **variables: Any) -> str:
    made: str = render_jinja_template([messages], chat_template=source, **variables)[0][0]
    return made


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_template_gives_the_bytes_that_transformers_gives(name: str) -> None:
    template = BoundedTemplate(PUBLISHED[name])
    for messages in CONVERSATIONS:
        for tools in (None, [{"type": "function", "function": CROP}]):
            for asks in (True, False):
                variables = {"messages": messages, "tools": tools, "add_generation_prompt": asks, **TOKENS}
                ours = rendered(lambda **those: template.render(those), documents=None, **variables)
                assert ours == rendered(theirs, source=PUBLISHED[name], **variables)
                # A tenth of what it may use at most.
                assert template._units.left > 0.9 * UNITS


def test_what_marks_a_model_s_own_words_shows_them() -> None:
    source = (
        "{% for m in messages %}{% generation %}{% set x = m.content %}{{ x }}!{% endgeneration %}{{ x }}{% endfor %}"
    )
    messages: list[dict[str, object]] = [{"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}]
    assert BoundedTemplate(source).render({"messages": messages}) == "a!b!"
    assert theirs(source, messages) == "a!b!"


NAMES = "{% set ns = namespace(x='ab', y=['a'], n=3) %}"


def often(body: str, times: int = 100_000) -> str:
    return f"{{% for i in range({times}) %}}{body}{{% endfor %}}"


TOO_MUCH = {
    "a product": "{{ 'a' * 5000000000 }}",
    "a product of a variable": "{% set n = 5000000000 %}{{ n * 'a' }}",
    "a list": "{% set x = [1] * 5000000000 %}",
    "loops in loops": often(often(often(""))),
    "texts in loops": often(often("x")),
    "a loop over a generator": "{% for i in range(100000)|map('string') %}" + often("x") + "{% endfor %}",
    "a condition of a loop": "{% for i in range(100000) if range(100000)|list|sort %}{% endfor %}",
    "~ doubling": NAMES + often("{% set ns.x = ns.x ~ ns.x %}"),
    "+ doubling": NAMES + often("{% set ns.x = ns.x + ns.x %}"),
    "lists doubling": NAMES + often("{% set ns.y = ns.y + ns.y %}"),
    "lists in lists": NAMES + often("{% set ns.y = [ns.y, ns.y] %}") + "{{ ns.y }}",
    "dictionaries in dictionaries": NAMES + often("{% set ns.y = {'a': ns.y, 'b': ns.y} %}") + "{{ ns.y|tojson }}",
    "namespaces in namespaces": NAMES + often("{% set ns.y = namespace(a=ns.y, b=ns.y) %}") + "{{ ns.y }}",
    "lists joined": NAMES + often("{% set ns.y = [ns.y] + [ns.y] %}", 60) + "{{ ns.y == ns.y[0] }}",
    "blocks doubling": NAMES + often("{% set ns.x %}{{ ns.x }}{{ ns.x }}{% endset %}"),
    "macros that call twice": (
        "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}"
    ),
    "callers": "{% macro m() %}{{ caller() }}{{ caller() }}{% endmacro %}"
    + "{% call m() %}" * 20
    + "x" * 1000
    + "{% endcall %}" * 20,
    "centred": "{{ 'a'.center(5000000000) }}",
    "centred by a filter": "{{ ['a']|map('center', 5000000000)|list }}",
    "padded with noughts": "{{ 'a'.zfill(5000000000) }}",
    "replaced": "{% set x = 'a' * 100000 %}{{ x.replace('', x) }}",
    "replaced by a filter": "{% set x = 'a' * 100000 %}{{ x|replace('', x) }}",
    "joined": "{% set x = 'a' * 100000 %}{{ x.join(x) }}",
    "joined by a filter": "{{ range(100000)|join('x' * 100000) }}",
    "indented": "{{ ('\n' * 100000)|indent(100000) }}",
    "indented JSON": "{{ [[[1]]]|tojson(indent=1000000000) }}",
    "JSON with long commas": "{{ range(100000)|list|tojson(separators=('x' * 100000, ':')) }}",
    "batches": "{{ [1]|batch(5000000000, 'x')|list }}",
    "slices": "{{ [1]|slice(5000000000)|list }}",
    "formats": "{{ ('%999d' * 1000000) % 3 }}",
    "a format of many": "{% set x = 'a' * 1000000 %}{{ ('{0}' * 100000).format(x) }}",
    "searched": "{% set x = 'a' * 1000000 %}" + often("{{ 'b' in x }}"),
    "compared": "{% set x = 'a' * 1000000 %}{% set y = 'a' * 1000000 %}" + often("{{ x == y }}"),
    "cut": "{% set x = 'a' * 1000000 %}" + often("{% set y = x[1:] %}"),
    "counted": "{% set x = 'a' * 1000000 %}" + often("{% set y = x.count('b') %}"),
    "views of dictionaries": "{% set d = {'a': ['x' * 1000] * 1000} %}" + often("{{ d.items() }}"),
    "sorted": often("{% set x = range(100000)|list|sort %}"),
    "lists added up": "{{ (range(100000)|map('string')|map('list')|list)|sum(start=[]) }}",
    "long": "x" * 100_000,
}
REFUSED = {
    "a power": "{{ 2 ** 1000000000 }}",
    "squares of squares": NAMES + often("{% set ns.n = ns.n * ns.n %}"),
    "sums of sums": NAMES + often("{% set ns.n = ns.n - (0 - ns.n) %}"),
    "a number of many digits": "{{ 0x" + "f" * 50_000 + " }}",
    "a number in a text": "{{ ('f' * 1000000)|int(base=16) }}",
    "rounded": "{{ 1.5|round(1000000000, 'ceil') }}",
    "a wide format": "{{ '{:>5000000000}'.format('a') }}",
    "a width in an argument": "{{ '{:>{}}'.format('a', 5000000000) }}",
    "a wide number": "{{ '%5000000000d' % 3 }}",
    "a width by name": "{{ '%(a)5000000000d' % {'a': 3} }}",
    "a width by a star": "{{ '%*d'|format(5000000000, 3) }}",
    "tabs": "{{ '\t'.expandtabs(5000000000) }}",
    "bytes of a number": "{{ (5).to_bytes(5000000000) }}",
    "translated": "{{ 'aaaa'.translate({97: 'b' * 100}) }}",
    "a long date": "{{ strftime_now('%d' * 1000) }}",
    "a class": "{{ ''.__class__.__mro__ }}",
    "a name of Python's": "{% set ns = namespace(__class__=1) %}",
    "a macro of itself": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "a block of itself": "{% block a %}{{ self.a() }}{{ self.a() }}{% endblock %}",
    "a loop of itself": "{% for i in [1, 2] recursive %}{{ loop([1, 2]) }}{% endfor %}",
    "brackets": "{{ " + "(" * 30_000 + " }}",
    "a file": "{% include '/etc/passwd' %}",
}


@pytest.mark.parametrize("source", TOO_MUCH.values(), ids=TOO_MUCH.keys())
def test_a_template_that_takes_too_much_ends_in_words(source: str) -> None:
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(TemplateLimitError, match=r"template (takes too much time or memory|has 100,000 characters)"):
        BoundedTemplate(source).render({"messages": CONVERSATIONS[0]})
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < 1 << 19


@pytest.mark.parametrize("source", REFUSED.values(), ids=REFUSED.keys())
def test_what_a_template_has_no_use_for_is_refused(source: str) -> None:
    with pytest.raises(Exception, match=r"not rendered|unsafe|recursion|underscore|no loader"):
        BoundedTemplate(source).render({"messages": CONVERSATIONS[0]})


def test_a_render_after_one_that_took_too_much_has_all_its_units() -> None:
    template = BoundedTemplate("{% if messages == 1 %}" + often(often("")) + "{% endif %}a")
    with pytest.raises(TemplateLimitError):
        template.render({"messages": 1})
    assert template.render({"messages": 2}) == "a"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "checkpoint"
    size = TinySize(hidden=32, mlp=64, vision_hidden=32, vision_mlp=48)
    tiny_model(["Which plate?"] * 9, MediaStore(), size=size, vocab_size=300, seed=3).save(path)
    return path


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (TOO_MUCH["a product"], "takes too much time or memory .*model.chat_template"),
        (REFUSED["a power"], r"cannot be used \(SecurityError: whole numbers of more than 4,096 bits"),
        ("{{ raise_exception('a\x1b[2J' ~ 'b' * 10000) }}", r"cannot be used \(TemplateError: a \[2Jb{290,300}\)"),
    ],
)
def test_a_checkpoint_with_such_a_template_is_one_message(
    sound: Path, tmp_path: Path, source: str, message: str
) -> None:
    path = tmp_path / "checkpoint"
    shutil.copytree(sound, path)
    (path / "chat_template.jinja").write_text(source)
    with pytest.raises(UserError, match=message) as caught:
        load_model(path, MediaStore())
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_a_template_that_waits_for_a_word_ends_when_it_comes(sound: Path, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    shutil.copytree(sound, path)
    kept = (path / "chat_template.jinja").read_text()
    hidden = "{% if 'now' in messages|string %}" + often(often("x")) + "{% endif %}"
    (path / "chat_template.jinja").write_text(hidden + kept)
    model = load_model(path, MediaStore())
    assert model.chat.prompt([Message(role="user", parts=("Which?",))]).ids
    with pytest.raises(TemplateLimitError):
        model.chat.prompt([Message(role="user", parts=("Which, now?",))])
