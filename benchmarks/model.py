"""The values that travel through the harness: a data set, a task, a goal, a row and a report of results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

SUBJECT = "separatrix"  # the library under test; every other participant is a peer

Status = Literal["ok", "failed", "missing", "skipped", "declined"]


class LinearAnswer(NamedTuple):
    """What a linear classifier learned: coef (1 or K, p) and intercept (1 or K,)."""

    coef: np.ndarray
    intercept: np.ndarray


class ScoredAnswer(NamedTuple):
    """A linear classifier and the accuracy that it gave itself in the timed call."""

    coef: np.ndarray
    intercept: np.ndarray
    accuracy: float


class GaussianAnswer(NamedTuple):
    """What a Gaussian naive Bayes learned: prior (K,), mean (K, p) and variance (K, p)."""

    prior: np.ndarray
    mean: np.ndarray
    variance: np.ndarray


class KernelAnswer(NamedTuple):
    """What a kernel machine learned, in scikit-learn's layout: dual coefficients (K−1, m) of the rows ``support``
    (m,), and an intercept for each pair of classes (for two classes, and for numbers, one)."""

    dual_coef: np.ndarray
    support: np.ndarray
    intercept: np.ndarray


@dataclass(frozen=True)
class Dataset:
    """Rows and labels (or counts) with a sentence saying where they came from."""

    X: Any  # ndarray (n, p) or CSR
    y: np.ndarray  # integer codes 0..K-1, counts, or real targets
    source: str
    held_out: tuple[Any, np.ndarray] | None = None  # rows and labels that no fit sees

    @property
    def nbytes(self) -> int:
        """Bytes of X: the measure that peak memory is compared with."""
        if hasattr(self.X, "indptr"):
            return self.X.data.nbytes + self.X.indices.nbytes + self.X.indptr.nbytes
        return self.X.nbytes

    def head(self, n: int) -> Dataset:
        """The first n rows (rows are shuffled when the data are made)."""
        return Dataset(self.X[:n], self.y[:n], self.source, self.held_out)


@dataclass(frozen=True)
class Task:
    """What a peer is asked to do. `kind` is what it must be able to do, the rest describes the data."""

    workload: str
    kind: str  # "logistic", "gaussian_nb", "gaussian_nb_predict", "lda", ...; later "svc", ...
    n: int = 0
    p: int = 0
    n_classes: int = 2
    sparse: bool = False
    C: float = 1.0
    gamma: str = "scale"  # of RBF kernels: 1/(p·Var X), or "auto", 1/p


@dataclass(frozen=True)
class Goal:
    """What separatrix must reach: a speed-up over the reference peer, or over several, a time, a share of memory."""

    text: str
    speedup: float | None = None
    share: float | None = None
    reference: str | None = None  # a named peer; None means the fastest one that counts
    against: Mapping[str, float] = field(
        default_factory=dict
    )  # peer: the speed-up over it, all to be reached
    seconds: float | None = None  # at most this long
    each: float | None = None  # in a table of several parts: the speed-up that none may be below
    above: float | None = None  # and the seconds that none may be above its reference


@dataclass(frozen=True)
class Options:
    """How to run: which participants, how often, how large."""

    peers: tuple[str, ...]
    asked: bool = False  # the peers were named by the user: none is skipped for being slow
    repeat: int = 3
    scale: float = 1.0
    memory: bool = False
    skip_slow: bool = True
    slow_limit: float = 60.0
    python: str | None = (
        None  # the interpreter of the processes that C1-all starts; None: this one, and this tree
    )


@dataclass(frozen=True)
class Workload:
    """One goal of BENCHMARKS.md. `run` measures it; `data` and `score` are used by the runs that fit.

    A line with two goals is two workloads, N1-fit and N1-predict; the command line takes N1 for both.
    """

    id: str
    title: str
    goal: Goal
    run: Callable[[Workload, Options, Callable[[str], None]], Report]
    kind: str = "logistic"
    data: Callable[[float], Dataset] | None = None
    score: Callable[[Any, Dataset, Task], float] | None = None  # lower is better; the same for everyone
    spread: float = 0.0  # of the score from seed to seed: what is within it is no worse
    growth: bool = False
    C: float = 1.0
    gamma: str = "scale"  # of RBF kernels
    parts: tuple[str, ...] = ()  # ids of the workloads that M1 weighs
    published: Mapping[str, float] = field(default_factory=dict)  # peer: seconds in BENCHMARKS.md

    def task(self, data: Dataset) -> Task:
        """The task that this workload sets on these data."""
        n, p = data.X.shape
        one_score = self.kind in ("glm_poisson", "svr_rbf")  # as two classes have
        scores = 2 if one_score else len(np.unique(data.y))
        return Task(self.id, self.kind, n, p, scores, hasattr(data.X, "indptr"), self.C, self.gamma)


@dataclass(frozen=True)
class Row:
    """One participant's result. Times in seconds, memory in bytes; None where it was not measured."""

    peer: str
    status: Status = "ok"
    seconds: float | None = None
    runs: tuple[float, ...] = ()
    objective: float | None = None
    excess: float | None = None  # objective minus the best of the run
    ratio: float | None = None  # seconds over the reference's seconds
    memory: int | None = None  # peak above the loaded data
    share: float | None = None  # memory over the data's bytes
    counts: bool = True  # may serve as the reference: solves the same problem, and is not the null rival
    growth: tuple[float | None, ...] = ()  # seconds at n/4, n/2, n
    exponent: float | None = None
    notes: tuple[str, ...] = ()
    part: str = ""  # the workload that the row is about, in a table over several
    spread: float = 0.0  # of the objective from seed to seed


@dataclass(frozen=True)
class Report:
    """A workload's table and its last line."""

    id: str
    title: str
    source: str
    unit: str  # of the time column: "s", "ms", "µs"; "" when no time is shown
    rows: tuple[Row, ...]
    goal: str
    verdict: str
    met: bool | None  # None when there was nothing to compare
    speedup: float | None = None
    reference: str | None = None
    scale: float = 1.0
