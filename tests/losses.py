"""Losses that no model here minimises, for what solvers and objectives ask of a loss.

exponential    e^{−yη}                 y = ±1     its slope has no bound
ε-insensitive  max(0, |η − y| − ε)     y real     two corners
"""

from dataclasses import dataclass

import numpy as np

from separatrix.core.losses import Loss
from separatrix.core.numerics import FloatArray


@dataclass(frozen=True)
class Exponential(Loss):
    """e^{−yη}:  ℓ' = −y e^{−yη},  ℓ'' = e^{−yη}.

    Not ``smooth``: its slope has no Lipschitz constant, so fixed-step methods may diverge.

    >>> Exponential().value(np.array([0.0]), np.array([1.0]))
    array([1.])
    """

    name = "exponential"
    target = "sign"
    smooth = False

    def derivatives(self, eta: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        with np.errstate(over="ignore"):
            e = np.exp(-y * eta)
        return e, -y * e, e.copy()  # a sweep scales each part in place: none may be another


@dataclass(frozen=True)
class EpsilonInsensitive(Loss):
    """max(0, |η − y| − ε):  ℓ' = sign(η − y) outside the tube.

    >>> EpsilonInsensitive(0.5).value(np.array([1.2, 3.0]), np.array([1.0, 1.0]))
    array([0. , 1.5])
    """

    epsilon: float = 0.1

    name = "epsilon_insensitive"
    target = "real"
    smooth = False
    curved = False

    def derivatives(self, eta: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        r = eta - y
        out = np.abs(r) - self.epsilon
        return np.maximum(out, 0.0), np.where(out > 0, np.sign(r), 0.0), np.zeros_like(r)
