"""Parser of the public logic forms of plane geometry (Inter-GPS).

    Equals(LengthOf(Line(A,B)), 2*x+10)   Perpendicular(Line(A,B), Line(C,D))   Find(x)

A text is a sequence of statements, which commas, semicolons, full stops, quotes, brackets and line ends may separate.
Numbers are decimal; ``10x``, ``2(x+1)``, ``x^2``, ``x**2``, ``\\frac{a}{b}``, ``\\sqrt{a}``, ``sqrt(a)``, ``π`` and
``40°`` are understood. Reading is recursive descent in one pass without going back: time is linear in the length.
"""

import re
from dataclasses import dataclass
from fractions import Fraction

from saccade.readers.geometry.terms import Call, LanguageError, Name, Node, Number, Operation

MAX_DEPTH = 24
MAX_STATEMENTS = 120
MAX_TEXT_CHARS = 20_000
MAX_NUMBER = 10**9
MAX_NUMBER_CHARS = 24

_TOKEN = re.compile(
    r"(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?)"
    r"|(?P<name>\\?[A-Za-z\u0391-\u03c9][A-Za-z0-9_\u0391-\u03c9]*'*)"
    r"|(?P<sign>\*\*|[-+*/^(){},;.$\"'\[\]=])",
    re.ASCII,
)
_SPACE = re.compile(r"\s*")
# What people write for the same thing. One character each, so that positions stay true.
_SAME = str.maketrans({"−": "-", "–": "-", "×": "*", "·": "*", "÷": "/", "（": "(", "）": ")", "，": ",", "：": ":"})
_POWERS = {"²": 2, "³": 3}
_SEPARATORS = frozenset(",;.\"'[]")
_CLOSES = {"(": ")", "{": "}"}
_TEXT_CHARS_SHOWN = 24


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    """``number``, ``name``, ``power``, ``root``, ``end``, or the sign itself."""
    text: str
    at: int


def parse_statements(text: str, what: str = "the text") -> tuple[Call, ...]:
    """The statements of a text; ``LanguageError`` names ``what`` and tells where it stops being one."""
    reader = _StatementReader(text, what)
    statements: list[Call] = []
    while True:
        while reader.token.kind in _SEPARATORS:
            reader.advance()
        if reader.token.kind == "end":
            return tuple(statements)
        statement = reader.expression(0)
        if not isinstance(statement, Call):
            raise reader.error(
                "an expression", "a statement such as Equals(LengthOf(Line(A,B)),5) or Find(x)", statement.at
            )
        statements.append(statement)
        if len(statements) > MAX_STATEMENTS:
            raise LanguageError(f"{what} has more than {MAX_STATEMENTS} statements; leave out what does not matter")


def parse_expression(text: str, what: str = "the text") -> Node:
    """The one expression that a text consists of."""
    reader = _StatementReader(text, what)
    node = reader.expression(0)
    if reader.token.kind != "end":
        raise reader.unexpected("an operator such as + or *, or the end")
    return node


def parse_equations(text: str, what: str = "the text") -> tuple[Node, ...]:
    """Expressions and equations ``a = b``, an equation as ``Equals(a,b)``; separated as statements are or by lines."""
    # Of the same length, so that positions stay true; else the end of one line would multiply the next.
    reader = _StatementReader(text.replace("\n", ";"), what)
    found: list[Node] = []
    while True:
        while reader.token.kind in _SEPARATORS:
            reader.advance()
        if reader.token.kind == "end":
            return tuple(found)
        node = reader.expression(0)
        if reader.token.kind == "=":
            reader.advance()
            node = Call("Equals", (node, reader.expression(0)), node.at)
        found.append(node)
        if reader.token.kind not in _SEPARATORS and reader.token.kind != "end":
            raise reader.unexpected('an operator such as + or *, "=", or "," before the next equation')
        if len(found) > MAX_STATEMENTS:
            raise LanguageError(f"{what} has more than {MAX_STATEMENTS} equations")


class _StatementReader:
    """Reads terms from a text, one token ahead."""

    def __init__(self, text: str, what: str) -> None:
        if len(text) > MAX_TEXT_CHARS:
            raise LanguageError(f"{what} has {len(text)} characters; at most {MAX_TEXT_CHARS} are read")
        self._text = text.translate(_SAME)
        self._what = what
        self._next = 0
        self.token = _Token("end", "", 0)
        self.advance()

    def advance(self) -> None:
        """Moves on to the next token; degree signs are skipped, because angles are always in degrees."""
        space = _SPACE.match(self._text, self._next)
        at = space.end() if space else self._next
        if at >= len(self._text):
            self.token, self._next = _Token("end", "", at), at
            return
        character = self._text[at]
        match = _TOKEN.match(self._text, at)
        if character == "°":
            self._next = at + 1
            self.advance()
        elif character in _POWERS:
            self.token, self._next = _Token("power", character, at), at + 1
        elif character == "√":
            self.token, self._next = _Token("root", character, at), at + 1
        elif match is None:
            raise self.error(_quoted(character), "a name, a number, an operator or a bracket", at)
        else:
            kind = match.lastgroup or "sign"
            text = match.group()
            self.token = _Token(text if kind == "sign" else kind, text, at)
            self._next = match.end()

    def error(self, found: str, expected: str, at: int) -> LanguageError:
        """The mistake at a place, for the author of the text."""
        start = max(0, at - _TEXT_CHARS_SHOWN // 2)
        context = " ".join(self._text[start : start + _TEXT_CHARS_SHOWN].split())
        place = f', near "{context}"' if context.isprintable() and context else ""
        return LanguageError(f"{self._what}, character {at + 1}{place}: found {found}, expected {expected}")

    def unexpected(self, expected: str) -> LanguageError:
        """The error for a token that should not come here."""
        token = self.token
        found = "the end" if token.kind == "end" else _quoted(token.text)
        return self.error(found, expected, token.at)

    def expression(self, depth: int) -> Node:
        """A sum."""
        if depth > MAX_DEPTH:
            raise self.error("more nesting", f"at most {MAX_DEPTH} levels of brackets and powers", self.token.at)
        at = self.token.at
        terms = [self._product(depth)]
        while self.token.kind in ("+", "-"):
            is_minus = self.token.kind == "-"
            self.advance()
            term = self._product(depth)
            terms.append(Operation("-", (term,), term.at) if is_minus else term)
        return terms[0] if len(terms) == 1 else Operation("+", tuple(terms), at)

    def _product(self, depth: int) -> Node:
        """Factors above and below one line of a fraction, so that no chain of divisions makes a deep term."""
        at = self.token.at
        above, below = [self._read_signed(depth)], list[Node]()
        while True:
            if self.token.kind in ("*", "/"):
                side = above if self.token.kind == "*" else below
                self.advance()
                side.append(self._read_signed(depth))
            elif self.token.kind in ("name", "number", "(", "root", "{") and not self._begins_statement():
                above.append(self._power(depth))
            else:
                break
        product = above[0] if len(above) == 1 else Operation("*", tuple(above), at)
        if not below:
            return product
        return Operation("/", (product, below[0] if len(below) == 1 else Operation("*", tuple(below), at)), at)

    def _begins_statement(self) -> bool:
        """Between statements no sign is needed: a capital word with a bracket is no factor."""
        word = self.token.text
        return self.token.kind == "name" and len(word) > 1 and word[0].isupper() and self._text[self._next :][:1] == "("

    def _read_signed(self, depth: int) -> Node:
        at, is_minus = self.token.at, False
        while self.token.kind in ("+", "-"):
            is_minus ^= self.token.kind == "-"
            self.advance()
        node = self._power(depth)
        return Operation("-", (node,), at) if is_minus else node

    def _power(self, depth: int) -> Node:
        at = self.token.at
        base = self._atom(depth)
        if self.token.kind == "power":
            exponent: Node = Number(Fraction(_POWERS[self.token.text]), self.token.at)
            self.advance()
            return Operation("^", (base, exponent), at)
        if self.token.kind not in ("^", "**"):
            return base
        self.advance()
        if self.token.text == "\\circ":
            self.advance()
            return base
        if depth >= MAX_DEPTH:
            raise self.error("more nesting", f"at most {MAX_DEPTH} levels of brackets and powers", self.token.at)
        signs = 0
        while self.token.kind in ("-", "+"):
            signs += self.token.kind == "-"
            self.advance()
        exponent = self._power(depth + 1)
        if signs % 2:
            exponent = Operation("-", (exponent,), exponent.at)
        return Operation("^", (base, exponent), at)

    def _atom(self, depth: int) -> Node:
        token = self.token
        if token.kind == "number":
            self.advance()
            return Number(self._value(token), token.at)
        if token.kind in ("(", "{"):
            return self._read_bracketed(depth)
        if token.kind == "$":
            self.advance()
            if self.token.kind == "number":
                self.advance()
            return Name("$", token.at)
        if token.kind == "root":
            self.advance()
            if depth >= MAX_DEPTH:
                raise self.error("more nesting", f"at most {MAX_DEPTH} levels of brackets and powers", token.at)
            return Call("sqrt", (self._atom(depth + 1),), token.at)
        if token.kind == "name":
            self.advance()
            return self._read_named(token, depth)
        raise self.unexpected("a number, a name or (")

    def _read_named(self, token: _Token, depth: int) -> Node:
        word = token.text
        if word == "\\frac":
            above, below = self._read_bracketed(depth), self._read_bracketed(depth)
            return Operation("/", (above, below), token.at)
        if word == "\\sqrt":
            return Call("sqrt", (self._read_bracketed(depth),), token.at)
        word = word.removeprefix("\\")
        if word in ("pi", "π"):
            return Name("pi", token.at)
        # A single small letter before a bracket is a factor, as in x(x+1).
        if self.token.kind != "(" or (len(word) == 1 and not word.isupper()):
            return Name(word, token.at)
        self.advance()
        args: list[Node] = []
        while self.token.kind != ")":
            args.append(self.expression(depth + 1))
            if self.token.kind == ",":
                self.advance()
            elif self.token.kind != ")":
                raise self.unexpected('"," or ")"')
        self.advance()
        return Call(word, tuple(args), token.at)

    def _read_bracketed(self, depth: int) -> Node:
        opening = self.token
        if opening.kind not in _CLOSES:
            raise self.unexpected('"{" or "("')
        self.advance()
        node = self.expression(depth + 1)
        if self.token.kind != _CLOSES[opening.kind]:
            raise self.unexpected(_quoted(_CLOSES[opening.kind]))
        self.advance()
        return node

    def _value(self, token: _Token) -> Fraction:
        if len(token.text) <= MAX_NUMBER_CHARS:
            mantissa, _, exponent = token.text.lower().partition("e")
            if abs(int(exponent or 0)) <= 9:
                value = Fraction(f"{mantissa.rstrip('.')}e{exponent or 0}")
                if value <= MAX_NUMBER:
                    return value
        raise self.error("a number that is too long or too large", f"numbers up to {MAX_NUMBER}", token.at)


def _quoted(text: str) -> str:
    return f'"{text[:_TEXT_CHARS_SHOWN]}"' if text.isprintable() else f"the character {text[:1]!a}"
