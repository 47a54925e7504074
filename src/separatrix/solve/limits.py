"""Where maximum-likelihood weights go when they run away: the limit of what does not.

On quasi-separated data the weights of some columns grow for ever while the others settle: at the estimate from the
rows that are not separated. Newton finds it from a point where the separated rows have probability one.
Cost: a few second-order sweeps, O(nq²) each.
"""

from __future__ import annotations

import numpy as np

from separatrix.core.linear import LinearRule
from separatrix.problems.objective import Memo
from separatrix.solve.linear import Problem
from separatrix.verdict.gaps import factorise


def limit_of_the_rest(problem: Problem, rule: LinearRule) -> LinearRule:
    """Newton steps on what does not run away, from a point where separated rows have probability one.

    There the Hessian is singular along the directions that run away and its least step leaves them alone, so
    the other weights reach their limit: the estimate from the rows that are not separated.
    """
    objective = problem.objective()
    if int(np.prod(objective.shape)) > 3000:
        return rule
    theta = objective.from_user(rule.coef, np.asarray(rule.intercept))
    memo = Memo()
    at = objective.evaluate(theta, order=2, memo=memo)
    for _ in range(50):
        assert at.hessian is not None
        step = factorise(at.hessian).solve(at.gradient.T.ravel()).reshape(theta.shape[::-1]).T
        scale = 1.0
        new = objective.evaluate(theta - step, order=2, memo=memo)
        while not new.value < at.value and scale > 1e-3:
            scale /= 2
            new = objective.evaluate(theta - scale * step, order=2, memo=memo)
        if not new.value < at.value:
            break
        theta, at = theta - scale * step, new
    return LinearRule(*objective.to_user(theta))


def centred(rule: LinearRule) -> LinearRule:
    """The same probabilities from K-class scores that sum to zero: a part common to all classes says nothing."""
    if rule.coef.ndim == 1:
        return rule
    intercept = np.asarray(rule.intercept)
    return LinearRule(rule.coef - rule.coef.mean(axis=0), intercept - intercept.mean())
