"""The optional import of sympy, with a message that says how to install it."""

from saccade.errors import missing_extra

try:
    import sympy
except ImportError as error:
    raise missing_extra("readers", "sympy", needed_for="solving geometry") from error

__all__ = ["sympy"]
