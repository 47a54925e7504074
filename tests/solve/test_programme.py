"""The dense quadratic programme, by hand."""

from __future__ import annotations

import numpy as np

from separatrix.solve.programme import solve_programme


def test_programme_by_hand():
    """min ½(x² + y²) − x − 3y on x + y = 1 in the unit box is at (0, 1)."""
    x, _, _ = solve_programme(np.eye(2), np.array([-1.0, -3.0]), np.ones((1, 2)), np.ones(1), np.ones(2))
    np.testing.assert_allclose(x, [0.0, 1.0], atol=1e-8)
