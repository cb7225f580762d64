"""Terms as texts of the language."""

from fractions import Fraction

from saccade.readers.geometry.terms import Call, Name, Node, Number, Operation

_RANK = {"+": 1, "-": 2, "*": 2, "/": 2, "^": 3}


def written(node: Node) -> str:
    """The term in the language; reading it gives the term back."""
    match node:
        case Number(value):
            return _decimal(value)
        case Name(text):
            return text
        case Call(name, args):
            return f"{name}({','.join(map(written, args))})"
        case Operation(sign, args):
            return _written_operation(sign, [_inside(arg, sign, index) for index, arg in enumerate(args)])


def _written_operation(sign: str, parts: list[str]) -> str:
    if sign == "-":
        return f"-{parts[0]}"
    if sign == "+":
        return parts[0] + "".join(part if part.startswith("-") else f"+{part}" for part in parts[1:])
    return sign.join(parts)


def _inside(arg: Node, sign: str, index: int) -> str:
    text = written(arg)
    if isinstance(arg, Number) and ("/" in text or text.startswith("-")):
        return text if sign == "+" and not text.startswith("-") else f"({text})"
    if not isinstance(arg, Operation):
        return text
    is_loose = _RANK[arg.sign] <= _RANK[sign] and not (sign == "+" and arg.sign == "-" and index > 0)
    is_loose |= sign == "+" and arg.sign == "+"
    return f"({text})" if is_loose else text


def _decimal(value: Fraction) -> str:
    """As decimals where they end, else as a fraction."""
    places = next((places for places in range(10) if (value * 10**places).denominator == 1), None)
    if places is None:
        return f"{value.numerator}/{value.denominator}"
    digits = str(abs(value.numerator) * (10**places // value.denominator)).zfill(places + 1)
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"
