"""sympy, or a message that says how to get it."""

from saccade.errors import UserError

try:
    import sympy
except ImportError as error:
    raise UserError('the geometry tools need the package sympy: pip install "saccade[geometry]"') from error

__all__ = ["sympy"]
