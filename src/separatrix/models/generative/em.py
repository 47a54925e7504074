"""EM for rows without a label, and for missing cells where no closed form counts them  ([6867] 3.3).

    E   R_ik = P(k | x_i) of rows without a label, the given class of the others      → facts under R
    M   the model's closed form on those facts

The likelihood rises with every step; its limit is a local optimum. Shapes: R (n, K). Cost: one sweep a step.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from separatrix.core.caller import warn
from separatrix.core.numerics import logsumexp, softmax
from separatrix.core.statistic import Statistic
from separatrix.core.statistics.grouped import Members
from separatrix.data.engine import sweep
from separatrix.data.interrupts import until_interrupted
from separatrix.data.rows import Block, Rows
from separatrix.models.generative.facts import ClassFacts, Task
from separatrix.models.generative.impossible import Watch
from separatrix.verdict.build import no_claim
from separatrix.verdict.verdict import ConvergenceWarning

if TYPE_CHECKING:
    from separatrix.models.generative.common import Generative


@dataclass(frozen=True, eq=False)
class Expectation(Statistic):
    """Facts under soft memberships, and the log likelihood of what was seen."""

    facts: ClassFacts
    log_likelihood: float


def learn_by_em(model: Generative, rows: Rows, began: float) -> None:
    """EM from the labelled fit: memberships of unlabelled rows are their posterior probabilities."""
    free = int(np.count_nonzero(rows.y < 0))
    hidden = f"{free} rows without a label" if free else "missing cells"
    path: list[float] = []
    stopped, fell = f"em_max_iter = {model.em_max_iter}", 0.0
    total = rows.total_weight
    kept = dict(model.__dict__)  # of the last step that is whole
    with until_interrupted() as watch:
        for _ in range(model.em_max_iter):
            expected: Expectation = sweep(expectation, rows, Task(model._now(), len(model.classes_)))[0]
            value = (expected.log_likelihood + model._log_prior_density()) / total
            if path:
                rise = value - path[-1]
                fell = max(fell, -rise)
                path.append(value)
                if rise <= model.em_tol * max(1.0, abs(value)):
                    stopped = "the likelihood rises by less than em_tol"
                    break
            else:
                path.append(value)
            model._facts_seen = expected.facts
            model._solve_all(expected.facts, began, 0.0)
            kept = dict(model.__dict__)
    if watch.interrupted:
        if not path:
            raise KeyboardInterrupt("no step of EM was finished")
        model.__dict__.update(kept)
        stopped = "interrupted"
    model.log_likelihoods_ = np.array(path)
    findings = [
        f"EM: {hidden}, {len(path)} steps; the optimum is a local one",
        f"mean log likelihood from {path[0]:.6g} to {path[-1]:.6g}",
    ]
    slack = 1e-9 * max(1.0, abs(path[-1]))
    if fell > slack:
        findings.append(f"the likelihood fell by {fell:.1e} in one step, which EM should not do")
    converged = stopped.startswith("the")
    model.verdict_ = no_claim(
        model, scale="mean loss", objective=-path[-1], tol=model.em_tol, sweeps=1.0 + len(path),
        seconds=time.perf_counter() - began, stopped_by=stopped,
        findings=(*findings, *model.verdict_.findings[1:]),
        status="no claim" if converged else "not converged", interrupted=watch.interrupted,
    )  # fmt: skip
    if not (converged or watch.interrupted):
        warn(f"EM stopped after {len(path)} steps: raise em_max_iter", ConvergenceWarning)


def expectation(block: Block, task: Task, _memo: None) -> tuple[Expectation, None]:
    """E step: posterior memberships of the unlabelled rows, and the facts under them."""
    total: Expectation | None = None
    for part in [slice(0, block.n)] if block.sparse else block.tiles(block.X.shape[1]):
        cells, codes = block.X[part], block.y[part]
        weight = None if block.weight is None else block.weight[part]
        joint = task.model._joint(cells)
        free = codes < 0

        seen = np.empty(len(codes))
        seen[free] = logsumexp(joint[free])
        seen[~free] = joint[~free, codes[~free]]
        soft = (codes[:, None] == np.arange(task.k)).astype(np.float64)
        soft[free] = softmax(Watch(task.model._log_prior).settled(joint[free]))
        seen += task.model._log_base(cells)
        members = Members(task.k, weight=weight, soft=soft)
        likelihood = float(seen.sum() if weight is None else seen @ weight)
        facts = ClassFacts(members.count, task.model._facts(cells, members))
        step = Expectation(facts, likelihood)
        total = step if total is None else total + step
    assert total is not None
    return total, None
