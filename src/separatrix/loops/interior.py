"""Row by row arithmetic of an interior point, compiled, without the GIL (solve/interior.py has the derivation).

A row has one side (hinge) or two (a tube); arrays are (n, sides), η is (n,):

    sign·η ≥ target − ξ,  ξ ≥ 0      multipliers α and m = cap − α,   s = sign·η − target + ξ

Four products must vanish together: α s and m ξ. ``cap`` = inf is a hard side: no ξ, no m. A side of cap 0 is absent.
Cost O(n·sides) each.
"""

from __future__ import annotations

import numpy as np

from separatrix.loops.compiled import loop, reads


@reads("X")
@loop
def centred_rows(X, centre, root, out):
    """out_ij = (x_ij − centre_j) root_i, and root_i in a last column where there is one more than X has."""
    n, p = X.shape
    lift = out.shape[1] > p
    for i in range(n):
        r = root[i]
        for j in range(p):
            out[i, j] = (np.float64(X[i, j]) - centre[j]) * r
        if lift:
            out[i, p] = r


@reads("X")
@loop
def picked_rows(X, at, centre, root, out):
    """As :func:`centred_rows`, of the rows ``at`` only."""
    p = X.shape[1]
    lift = out.shape[1] > p
    for k in range(at.shape[0]):
        i, r = at[k], root[k]
        for j in range(p):
            out[k, j] = (np.float64(X[i, j]) - centre[j]) * r
        if lift:
            out[k, p] = r


@loop
def advance(t, eta, alpha, room, s, xi, d_eta, d_alpha, d_s, d_xi):
    """One step of length t along the direction."""
    for i in range(eta.shape[0]):
        eta[i] += t * d_eta[i]
        for k in range(alpha.shape[1]):
            alpha[i, k] += t * d_alpha[i, k]
            room[i, k] -= t * d_alpha[i, k]
            s[i, k] += t * d_s[i, k]
            xi[i, k] += t * d_xi[i, k]


@loop
def weigh(sign, target, cap, eta, alpha, room, s, xi, root, pull, sums):
    """Row weights √Σ 1/D with D = ξ/m + s/α, and the predictor's pull Σ sign·q/D over that root, q = target − sign·η.

    ``sums`` gains (Σ αs + mξ, Σ cap·max(0, q), Σ α·target).
    """
    for i in range(eta.shape[0]):
        weight, slope = 0.0, 0.0
        for k in range(alpha.shape[1]):
            if cap[i, k] <= 0.0:
                continue
            q = target[i, k] - sign[i, k] * eta[i]
            hard = np.isinf(cap[i, k])
            d = s[i, k] / alpha[i, k]
            sums[0] += alpha[i, k] * s[i, k]
            if not hard:
                d += xi[i, k] / room[i, k]
                sums[0] += room[i, k] * xi[i, k]
                if q > 0.0:
                    sums[1] += cap[i, k] * q
            sums[2] += alpha[i, k] * target[i, k]
            weight += 1.0 / d
            slope += sign[i, k] * q / d
        root[i] = np.sqrt(weight)
        pull[i] = slope / root[i] if weight > 0.0 else 0.0


@loop
def predict(sign, target, cap, eta, alpha, room, s, xi, d_eta, second, third, pulls, sums):
    """What the predictor's d_eta does: products for the corrector, its pulls, and sums.

    ``second`` = dα·ds, ``third`` = dα·dξ; ``pulls`` (n, 2): the corrector's pull is pull + σμ·pulls₀ + pulls₁.
    ``sums`` gains the first and second power of t in Σ (α+t dα)(s+t ds) + (m−t dα)(ξ+t dξ); returns the largest step.
    """
    largest = 1.0
    for i in range(eta.shape[0]):
        one, two = 0.0, 0.0
        for k in range(alpha.shape[1]):
            if cap[i, k] <= 0.0:
                continue
            a, sk = alpha[i, k], s[i, k]
            hard = np.isinf(cap[i, k])
            d = sk / a if hard else xi[i, k] / room[i, k] + sk / a
            q = target[i, k] - sign[i, k] * eta[i]
            da = (q - sign[i, k] * d_eta[i]) / d
            ds = -sk - sk * da / a
            second[i, k] = da * ds
            sums[0] += a * ds + sk * da
            sums[1] += da * ds
            if da < 0.0:
                largest = min(largest, -a / da)
            if ds < 0.0:
                largest = min(largest, -sk / ds)
            k1, k2 = 1.0 / a, -da * ds / a
            if not hard:
                m, x = room[i, k], xi[i, k]
                dx = -x + x * da / m
                third[i, k] = da * dx
                sums[0] += m * dx - x * da
                sums[1] -= da * dx
                if da > 0.0:
                    largest = min(largest, m / da)
                if dx < 0.0:
                    largest = min(largest, -x / dx)
                k1 -= 1.0 / m
                k2 -= da * dx / m
            one += sign[i, k] * k1 / d
            two += sign[i, k] * k2 / d
        pulls[i, 0] = one
        pulls[i, 1] = two
    return largest


@loop
def correct(mu, sign, target, cap, eta, alpha, room, s, xi, d_eta, d_alpha, d_s, d_xi):
    """The corrector's direction from its d_eta (``d_alpha`` and ``d_xi`` come in as ``second`` and ``third``).

    ``mu`` is what each product is aimed at; returns the largest step.
    """
    largest = 1e300
    for i in range(eta.shape[0]):
        for k in range(alpha.shape[1]):
            if cap[i, k] <= 0.0:
                d_alpha[i, k], d_s[i, k], d_xi[i, k] = 0.0, 0.0, 0.0
                continue
            a, sk = alpha[i, k], s[i, k]
            hard = np.isinf(cap[i, k])
            r1 = mu - a * sk - d_alpha[i, k]
            q = target[i, k] - sign[i, k] * eta[i]
            if hard:
                d = sk / a
                q += (mu - d_alpha[i, k]) / a
                da = (q - sign[i, k] * d_eta[i]) / d
                d_xi[i, k] = 0.0
            else:
                m, x = room[i, k], xi[i, k]
                d = x / m + sk / a
                q += (mu - d_alpha[i, k]) / a - (mu + d_xi[i, k]) / m
                r2 = mu - m * x + d_xi[i, k]
                da = (q - sign[i, k] * d_eta[i]) / d
                dx = (r2 + x * da) / m
                d_xi[i, k] = dx
                if da > 0.0:
                    largest = min(largest, m / da)
                if dx < 0.0:
                    largest = min(largest, -x / dx)
            ds = (r1 - sk * da) / a
            d_alpha[i, k], d_s[i, k] = da, ds
            if da < 0.0:
                largest = min(largest, -a / da)
            if ds < 0.0:
                largest = min(largest, -sk / ds)
    return largest
