"""Breiman's waveform data (CART, 1984): three classes of noisy mixtures of two out of three triangles, 21 columns.

    x_i = u h_a(i) + (1 − u) h_b(i) + ε_i,   i = 1 … 21,   u ~ U[0, 1],   ε ~ N(0, 1)
    h₁(i) = max(6 − |i − 11|, 0),   h₂(i) = h₁(i − 4),   h₃(i) = h₁(i + 4);   (a, b) = (1, 2), (1, 3), (2, 3)

The best any classifier can do is an error of about 14 %.
"""

import numpy as np


def waveform(n, rng):
    """X (n, 21) and labels 0, 1, 2 (n,), each class as likely."""
    i = np.arange(1, 22)
    h = np.maximum(6.0 - np.abs(i - np.array([[11], [15], [7]])), 0.0)
    y = rng.integers(0, 3, n)
    first, second = h[np.array([0, 0, 1])[y]], h[np.array([1, 2, 2])[y]]
    u = rng.random((n, 1))
    return u * first + (1 - u) * second + rng.standard_normal((n, 21)), y
