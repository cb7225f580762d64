"""What a request asks by its address: texts and whole numbers within limits."""

from starlette.requests import Request

from saccade.errors import UserError

MAX_TEXT = 400


def text_of(request: Request, name: str, default: str | None = None, *, longest: int = MAX_TEXT) -> str:
    """A parameter of the address. UserError where it is too long, or is not there and has no default."""
    value = request.query_params.get(name, default)
    if value is None:
        raise UserError(f"the address has no {name}=...; the request needs it")
    if len(value) > longest:
        raise UserError(f"{name}={value[:40]}... has {len(value)} characters; at most {longest} are read")
    return value


def number_of(request: Request, name: str, default: int, *, least: int, most: int) -> int:
    """A whole number of the address, or the default. UserError for anything else, and outside the limits."""
    value = request.query_params.get(name)
    if value is None:
        return default
    try:
        number = int(value)
    except ValueError as error:
        raise UserError(f"{name}={value[:40]} is no whole number") from error
    if not least <= number <= most:
        raise UserError(f"{name}={value[:40]} is not between {least} and {most}")
    return number
