"""Wide rows by their Gram matrix:  Z = U S Vᵀ from ZZᵀ = U S² Uᵀ, which costs a tenth of the singular values of Z.

    V = Zᵀ U / S        good to EPS·(s_1/s_r)² where s_r is the least that is kept

A Gram matrix squares the condition: where a singular value that is kept is small beside the first, or where rounding
leaves open which are kept, Z is decomposed itself. Shapes: Z (m, p), m ≤ p. Cost O(m²p), memory O(mp).
"""

from __future__ import annotations

import numpy as np

from separatrix.core.numerics import EPS, FloatArray

STEEP = 1e-4  # (s_r / s_1)² below which the Gram matrix is not asked
NOISE = 64.0  # of EPS·s_1²: what rounding may make of an eigenvalue


def singular_directions(Z: FloatArray, least: float) -> tuple[FloatArray, FloatArray]:
    """The singular values of at least ``least`` > 0, the largest first, and their right vectors as rows (r, p).

    >>> values, vt = singular_directions(np.array([[3.0, 0.0, 0.0], [3.0, 0.0, 0.0], [0.0, 2.0, 0.0]]), 0.1)
    >>> values.round(12).tolist(), np.abs(vt).round(12).tolist()
    ([4.242640687119, 2.0], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    """
    if len(Z) <= Z.shape[1]:
        squares, U = np.linalg.eigh(Z @ Z.T)
        noise = NOISE * EPS * max(float(squares[-1]), 0.0) if len(squares) else 0.0
        keep = squares >= least**2
        sure = not np.any(np.abs(squares - least**2) <= noise)
        if sure and squares[keep].min(initial=np.inf) >= STEEP * squares.max(initial=0.0):
            values, U = np.sqrt(squares[keep][::-1]), U[:, keep][:, ::-1]
            return values, np.asarray((U / values).T @ Z)
    _, values, vt = np.linalg.svd(Z, full_matrices=False)
    keep = values >= least
    return values[keep], vt[keep]
