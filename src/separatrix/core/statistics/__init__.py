"""Mergeable facts of rows: `Moments` of columns, `Gram` and `QRFactor` of their scatter; by class in `grouped`."""

from separatrix.core.statistic import Statistic
from separatrix.core.statistics.moments import Moments
from separatrix.core.statistics.second_order import Gram, QRFactor, SecondOrder, Solution, trustworthy

__all__ = ["Gram", "Moments", "QRFactor", "SecondOrder", "Solution", "Statistic", "trustworthy"]
