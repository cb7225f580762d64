"""Jinja with bounds: loops, calls, filters and operators are charged before they do what a template asks."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence, Sized
from functools import wraps
from typing import Any, cast

from jinja2 import nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension
from jinja2.runtime import BlockReference, Context, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from saccade.models.template_units import BRACES, PERCENT, STEP, Units, check_bits, length

_METHODS = frozenset(
    [
        *("capitalize", "casefold", "lower", "swapcase", "title", "upper", "strip", "lstrip", "rstrip", "format"),
        *("count", "find", "rfind", "index", "rindex", "startswith", "endswith", "removeprefix", "removesuffix"),
        *("partition", "rpartition", "split", "rsplit", "splitlines", "join", "replace"),
        *("center", "ljust", "rjust", "zfill", "isalnum", "isalpha", "isascii", "isdecimal", "isdigit"),
        *("isidentifier", "islower", "isnumeric", "isprintable", "isspace", "istitle", "isupper"),
    ]
)
"""Of texts: those whose result is bounded by what is charged."""
_UNUSED = ("pprint", "striptags", "urlize", "wordwrap", "xmlattr")
"""Filters for pages, which take longer than their arguments are long."""
_FREE = ("abs", "attr", "count", "d", "default", "first", "float", "length", "safe")
_COMPARING = ("in", "eq", "==", "equalto", "ne", "!=", "lt", "<", "lessthan", "le", "<=", "gt", ">", "greaterthan")


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """For one template."""

    intercepted_binops = frozenset(["+", "-", "*", "**", "//", "%"])

    def __init__(self, extensions: Sequence[type[Extension]]) -> None:
        super().__init__(trim_blocks=True, lstrip_blocks=True, extensions=extensions, finalize=self._weigh_output)
        self.units = Units()
        self.size, self.sizes = 0, dict[str | None, int]()
        """Steps of the template, and of each of its macros, without loops; texts count as steps."""
        del self.globals["lipsum"]
        for name in _UNUSED:
            del self.filters[name]

    def charged_template(self, tree: nodes.Template) -> nodes.Template:
        """A parsed template, for which everything is charged from here on."""
        kept = {name: self.filters[name] for name in _FREE}
        self.filters = {name: self._charged_function(name, made) for name, made in self.filters.items()} | kept
        self.filters |= {"_turns": self._turns, "_joined": self._joined, "_weighed": self._weighed}
        self.filters |= {"_searched": self._searched, "_sliced": self._sliced}
        for name in _COMPARING:
            made: Any = self.tests[name]
            self.tests[name] = self._charged_function(name, made)
        self.size = steps_of(tree.body)
        counted: nodes.Template = _CountingTransformer(self).visit(tree)
        return counted

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        if isinstance(obj, Macro | BlockReference):
            self.units.charge(STEP * self.sizes.get(obj.name if isinstance(obj, Macro) else None, self.size))
        elif isinstance(obj, LoopContext):
            args = (self._turns(args[0], self.size), *args[1:])
        else:
            args = tuple(self._chargeable(one) for one in args)
            self._charge_call(obj, args)
        result = super().call(context, obj, *args, **kwargs)
        self.units.weigh(result)
        return result

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "+" and type(left) is str is type(right):
            self.units.charge(len(left) + len(right))
            return left + right
        self.units.charge_operation(operator, left, right)
        return super().call_binop(context, operator, left, right)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        if isinstance(obj, str):
            return attr in _METHODS
        return not isinstance(obj, int | float | bytes) and super().is_safe_attribute(obj, attr, value)

    def _charge_call(self, obj: object, args: Sequence[object]) -> None:
        """For what a function takes, and what a method of a text adds."""
        name, text = getattr(obj, "__name__", ""), getattr(obj, "__self__", None)
        if name == "format":
            text = getattr(getattr(obj, "__wrapped__", None), "__self__", None)
        for one in args:
            self.units.weigh(one)
        self.units.charge(STEP + length(text))
        if not isinstance(text, str):
            return
        if name == "replace":
            self.units.charge_replacing(text, args)
        elif name == "join":
            self.units.charge(len(text) * sum(map(length, args)))
        elif name == "format":
            self.units.charge_format(text.replace("{{", "").replace("}}", ""), BRACES, text.count("{"), args)
        elif name in ("center", "ljust", "rjust", "zfill"):
            self.units.charge(sum(one for one in args if isinstance(one, int)))

    def _charged_function(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A filter or test that is charged for what it takes, adds and gives."""
        place = 1 if hasattr(function, "jinja_pass_arg") else 0
        units = self.units

        @wraps(function)
        def charged_call(*args: Any, **kwargs: Any) -> Any:
            own, args = args[:place], tuple(self._chargeable(one) for one in args[place:])
            units.charge(STEP)
            for one in args:
                units.weigh(one)
            if len(args) > 1 or kwargs:
                self._charge_filter(name, args[0], [*args[1:], *kwargs.values()])
            result = function(*own, *args, **kwargs)
            if not isinstance(result, Generator):
                units.weigh(result)
            return result

        return charged_call

    def _charge_filter(self, name: str, value: object, given: Sequence[object]) -> None:
        """For what a filter adds by its arguments."""
        numbers = sum(abs(one) for one in given if type(one) is int)
        if name == "replace":
            self.units.charge_replacing(str(value), given)
        elif name == "join":
            self.units.charge(length(value) * sum(map(length, given)))
        elif name == "indent":
            self.units.charge((str(value).count("\n") + 1) * (numbers + sum(map(length, given))))
        elif name == "tojson":
            # Each entry may stand as far to the right as there are brackets around it.
            self.units.charge(self.units.weight_of(value) * (numbers + self.units.weight_of(given)))
        elif name == "format":
            self.units.charge_format(str(value), PERCENT, str(value).count("%"), given)
        elif name in ("center", "batch", "slice"):
            self.units.charge(STEP * numbers)
        elif name == "int":
            check_bits(6 * length(value))
        elif (name == "round" and numbers > 100) or (name == "sum" and any(map(length, given[1:]))):
            raise SecurityError(f"the filter {name} is not rendered with these arguments")

    def _chargeable(self, value: Any) -> Any:
        """What can be charged: a generator is no value yet."""
        return list(self._turns(value, 1)) if isinstance(value, Generator) else value

    def _turns(self, value: Any, steps: int) -> Any:
        """What a loop goes through, charged for a body of so many steps."""
        if isinstance(value, Sized):
            self.units.charge(len(value) * STEP * steps)
            return value
        return self._one_by_one(value, steps) if isinstance(value, Iterable) else value

    def _one_by_one(self, values: Iterable[object], steps: int) -> Iterator[object]:
        for value in values:
            self.units.charge(STEP * steps)
            yield value

    def _joined(self, *parts: object) -> str:
        """``a ~ b``."""
        self.units.weigh(parts)
        return "".join(map(str, parts))

    def _weighed(self, value: object) -> object:
        self.units.weigh(value)
        return value

    def _searched(self, value: object) -> object:
        """Where ``in`` looks."""
        if type(value) is not dict:
            self.units.weigh(value)
        return value

    def _sliced(self, value: object) -> object:
        self.units.charge(len(value) if isinstance(value, str) else STEP * length(value))
        return value

    def _weigh_output(self, value: object) -> object:
        """What ``{{ }}`` writes."""
        self.units.weigh(value)
        return value


class _CountingTransformer(NodeTransformer):
    """Puts the counts into a parsed template: at loops, at what makes texts and lists, and at what compares them."""

    def __init__(self, environment: BoundedEnvironment) -> None:
        self.environment = environment

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802
        steps = steps_of([*node.body, *([node.test] if node.test else [])])
        self.generic_visit(node)
        node.iter = _filter_node("_turns", cast(nodes.Expr, node.iter), nodes.Const(steps))
        return node

    def visit_Macro(self, node: nodes.Macro) -> nodes.Node:  # noqa: N802
        # Of several macros of a name, the larger one.
        self.environment.sizes[node.name] = max(steps_of(node.body), self.environment.sizes.get(node.name, 0))
        return self.generic_visit(node)

    def visit_Const(self, node: nodes.Const) -> nodes.Node:  # noqa: N802
        if isinstance(node.value, int):
            check_bits(node.value.bit_length())
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        return _filter_node("_joined", node.nodes[0], *node.nodes[1:])

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        return _filter_node("_sliced", node) if isinstance(node.arg, nodes.Slice) else node

    def visit_List(self, node: nodes.List) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        return _weighed(node)

    def visit_Dict(self, node: nodes.Dict) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        return _weighed(node)

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        return _weighed(node) if node.ctx == "load" else node

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        operations = {one.op for one in node.ops}
        # Equality with a constant looks at no more than that constant.
        if operations <= {"eq", "ne"} and isinstance(node.ops[0].expr, nodes.Const):
            return node
        node.expr = _weighed(node.expr)
        for operand in node.ops:
            operand.expr = _weighed(operand.expr, "_searched" if operand.op in ("in", "notin") else "_weighed")
        return node


def _filter_node(name: str, value: nodes.Expr, *arguments: nodes.Expr) -> nodes.Filter:
    return nodes.Filter(value, name, list(arguments), [], None, None, lineno=value.lineno)


def _weighed(node: nodes.Expr, name: str = "_weighed") -> nodes.Expr:
    """Charged, unless it is as large as it stands in the template."""
    items = node.items if isinstance(node, nodes.List | nodes.Tuple) else [node]
    return node if all(isinstance(item, nodes.Const) for item in items) else _filter_node(name, node)


def steps_of(body: Iterable[nodes.Node]) -> int:
    """Steps that these take once; texts count as steps."""
    found = [inner for node in body for inner in (node, *node.find_all(nodes.Node))]
    return 1 + len(found) + sum(len(one.data) for one in found if isinstance(one, nodes.TemplateData)) // STEP
