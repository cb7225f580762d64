"""Levenberg and Marquardt's method for many starts at once: small dense least squares, vectorised over the starts."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from saccade.readers.geometry.state import Array

Ints = npt.NDArray[np.int64]
Residuals = Callable[[Array, Ints], Array]
"""Unknowns (unknown, batch) and which starts they belong to (batch,) to residuals (equation, batch)."""

STEP = 1e-7
"""Step of the difference quotients; unknowns are of the order of 1."""

CONVERGED = 1e-11
"""Bound of the largest residual; a start that has it is left alone."""

_FIRST_DAMPING = 1e-2
_LEAST_DAMPING, _MOST_DAMPING = 1e-14, 1e8


def descend(residuals: Residuals, starts: Array, steps: int) -> tuple[Array, Array]:
    """The unknowns (unknown, batch) after at most ``steps`` steps downhill, and their largest residual (batch,)."""
    places, count = starts.copy(), starts.shape[1]
    every = np.arange(count, dtype=np.int64)
    errors = _finite(residuals(places, every))
    damping = np.full(count, _FIRST_DAMPING)
    active = every[np.abs(errors).max(axis=0) > CONVERGED]
    for _ in range(steps):
        if not len(active):
            break
        here, error = places[:, active], errors[:, active]
        slope = _slopes(residuals, here, error, active)
        moved = here + _steps(slope, error, damping[active])
        moved_error = _finite(residuals(moved, active))
        better = (moved_error**2).sum(axis=0) < (error**2).sum(axis=0)
        places[:, active[better]], errors[:, active[better]] = moved[:, better], moved_error[:, better]
        damping[active] = np.maximum(damping[active] * np.where(better, 0.2, 6.0), _LEAST_DAMPING)
        is_done = (np.abs(errors[:, active]).max(axis=0) <= CONVERGED) | (damping[active] > _MOST_DAMPING)
        active = active[~is_done]
    return places, np.abs(errors).max(axis=0)


def _slopes(residuals: Residuals, here: Array, error: Array, active: Ints) -> Array:
    """Difference quotients (batch, equation, unknown), all from one call of the residuals."""
    unknowns, count = here.shape
    shifted = np.repeat(here[:, None, :], unknowns, axis=1)
    each = np.arange(unknowns)
    shifted[each, each, :] += STEP
    values = _finite(residuals(shifted.reshape(unknowns, -1), np.tile(active, unknowns)))
    slope = (values.reshape(len(error), unknowns, count) - error[:, None, :]) / STEP
    turned: Array = slope.transpose(2, 0, 1)
    return turned


def _steps(slope: Array, error: Array, damping: Array) -> Array:
    """The damped Gauss-Newton step (unknown, batch)."""
    normal = slope.transpose(0, 2, 1) @ slope
    gradient = slope.transpose(0, 2, 1) @ error.T[:, :, None]
    diagonal = np.einsum("bii->bi", normal)
    # Never without damping: directions that change nothing would make the matrix singular.
    diagonal += damping[:, None] * (diagonal + 1e-3) + 1e-13
    return np.asarray(np.linalg.solve(normal, -gradient)[:, :, 0].T, np.float64)


def _finite(values: Array) -> Array:
    return np.clip(np.nan_to_num(values, nan=1e6, posinf=1e6, neginf=-1e6), -1e6, 1e6)
