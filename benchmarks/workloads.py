"""The workloads of BENCHMARKS.md that are implemented, and a few more. Adding one is one entry in the tuple below.

A line of that file with two goals, N1, is two entries, N1-fit and N1-predict. A workload that fits names
its data (`datasets`), the kind of task its peers must know, and the score by which all answers are
compared; `race.run` does the rest. S5 to S7 are kernel machines beyond that file: real rows, sparse and of ten
classes (read from the shared data, skipped where they are not), and prediction alone, of machines fitted to
1e-6 so that everybody's labels are the same. F1 to F7 are small data (small.py): F1, F2 and F3 time fits on
100×5, 150×4 (three classes) and 1,000×20, F4, F5 and F6 predictions on the same, F7 a grid search. C1-all is C1 for
every estimator (first_fits.py; ``make first-fits`` runs it from a wheel).
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks import first_fits, latency, memory, objective, race, small, startup
from benchmarks.datasets import a9a, counts, dense, few, friedman, held_out, mnist, tumours, words
from benchmarks.model import Goal, Workload

NEVER_SLOWER = Goal(
    "never slower than sklearn, 2× on geometric mean", speedup=2.0, each=1.0, reference="sklearn"
)
OBJECTIVES = {
    "fit": "each model's own; ensembles: errors on rows held out",
    "predict": "share of wrong labels",
}
SPREAD = 0.003  # of the errors of an ensemble on 25,000 rows held out, from seed to seed


def _fastest(factor: float) -> Goal:
    """A speed-up over the fastest peer at no worse objective."""
    return Goal(f"{factor:g}× the fastest peer, at no worse objective", speedup=factor)


def _small() -> Iterator[Workload]:
    """F1 to F3 fit, F4 to F6 predict on the same three shapes."""
    shapes = (
        ("100×5, 2 classes", few(100, 5)),
        ("150×4, 3 classes", few(150, 4, 3)),
        ("1,000×20", few(1000, 20)),
    )
    for i, (verb, run) in enumerate((("fit", small.fits), ("predict", small.predictions))):
        for j, (shape, data) in enumerate(shapes):
            title = f"{verb} on {shape}: seven models, each median (objective: {OBJECTIVES[verb]})"
            yield Workload(f"F{3 * i + j + 1}", title, NEVER_SLOWER, run, kind="small", data=data)


WORKLOADS: dict[str, Workload] = {
    workload.id: workload
    for workload in (
        Workload(
            "L1",
            "binary logistic, 500,000×50 dense, C=1",
            _fastest(5),
            race.run,
            data=dense(500_000, 50),
            score=objective.logistic,
            growth=True,
            published={
                "sklearnex": 1.5,
                "sklearn": 2.2,
                "glum": 2.6,
                "sklearn-newton": 6.0,
                "liblinear": 10.2,
                "statsmodels": 17.8,
            },
        ),
        Workload(
            "L2",
            "softmax, 60,000×784, 10 classes dense",
            _fastest(8),
            race.run,
            data=dense(60_000, 784, 10),
            score=objective.logistic,
            published={"sklearnex": 47.7, "sklearn": 65.8},
        ),
        Workload(
            "L3",
            "binary logistic, 20,000×100,000 sparse tf-idf",
            _fastest(2),
            race.run,
            data=words(2),
            score=objective.logistic,
            published={"sklearn": 0.31, "liblinear": 0.32},
        ),
        Workload(
            "L4",
            "softmax, 20,000×100,000 sparse tf-idf, 20 classes",
            _fastest(5),
            race.run,
            data=words(20),
            score=objective.logistic,
            published={"sklearn": 9.4},
        ),
        Workload(
            "GL1",
            "binomial GLM with summary, L1's data (10 columns repeat others), no penalty",
            Goal(
                "within 1.5× of plain LogisticRegression, 10× statsmodels",
                against={"separatrix-plain": 1 / 1.5, "statsmodels": 10.0},
            ),
            race.run,
            kind="glm_binomial",
            data=dense(500_000, 50),
            score=objective.log_loss,
        ),
        Workload(
            "GL2",
            "binomial GLM with standard errors and summary, 500,000×50 dense, no penalty",
            Goal(
                "10× statsmodels, 2× glum (which gives no errors)", against={"statsmodels": 10.0, "glum": 2.0}
            ),
            race.run,
            kind="glm_binomial",
            data=counts(500_000, 50, at_least_one=True),
            score=objective.log_loss,
        ),
        Workload(
            "GL3",
            "Poisson GLM with standard errors and summary, 500,000×50 dense, no penalty",
            Goal(
                "10× statsmodels, 2× glum (which gives no errors)", against={"statsmodels": 10.0, "glum": 2.0}
            ),
            race.run,
            kind="glm_poisson",
            data=counts(500_000, 50),
            score=objective.poisson,
        ),
        Workload(
            "EV1",
            "Bayesian logistic regression, prior strength by evidence, 100,000×50 dense",
            Goal("under 3 s on two cores", seconds=3.0),
            race.run,
            kind="evidence",
            data=dense(100_000, 50),
            score=objective.log_loss,
        ),
        Workload(
            "N1-fit",
            "Gaussian NB fit, 1,000,000×50 dense (objective: mean −log p(x, y))",
            _fastest(5),
            race.run,
            kind="gaussian_nb",
            data=dense(1_000_000, 50),
            score=objective.joint,
            published={"sklearn": 0.52},
        ),
        Workload(
            "N1-predict",
            "Gaussian NB predict, 1,000,000×50 dense (objective: share of wrong labels)",
            _fastest(5),
            race.run,
            kind="gaussian_nb_predict",
            data=dense(1_000_000, 50),
            score=objective.errors,
            published={"sklearn": 0.48},
        ),
        Workload(
            "N2",
            "LDA fit, 200,000×200 dense, 5 classes (objective: mean −log P(y | x))",
            _fastest(4),
            race.run,
            kind="lda",
            data=dense(200_000, 200, 5),
            score=objective.log_loss,
            published={"sklearn-lsqr": 0.78, "sklearn-svd": 5.0},
        ),
        Workload(
            "N3",
            "multinomial NB fit + score, text as L4 (objective: mean −log P(y | x))",
            _fastest(2),
            race.run,
            kind="multinomial_nb",
            data=words(20),
            score=objective.log_loss_and_accuracy,
            published={"sklearn": 0.082},
        ),
        Workload(
            "S1",
            "RBF SVC, 20,000×50, C=1 (objective: primal)",
            _fastest(3),
            race.run,
            kind="svc_rbf",
            data=dense(20_000, 50),
            score=objective.kernel_hinge,
            growth=True,
            published={"sklearnex": 2.6, "sklearn": 5.7},
        ),
        Workload(
            "S2",
            "RBF SVR, 20,000×20, C=1, ε=0.1 (objective: primal)",
            _fastest(3),
            race.run,
            kind="svr_rbf",
            data=friedman(20_000, 20),
            score=objective.kernel_tube,
            published={"sklearnex": 3.1, "sklearn": 11.4},
        ),
        Workload(
            "S3",
            "linear SVC, hinge, 500,000×50, C=1 (objective: primal, intercept free)",
            _fastest(10),
            race.run,
            kind="linear_hinge",
            data=dense(500_000, 50),
            score=objective.hinge,
            published={"sklearn": 39.6},
        ),
        Workload(
            "S4",
            "linear SVC, squared hinge, one-vs-rest, text as L4 (objective: primal, intercept free)",
            _fastest(2),
            race.run,
            kind="linear_squared_hinge",
            data=words(20),
            score=objective.squared_hinge,
            published={"sklearn": 1.8},
        ),
        Workload(
            "S5",
            "RBF SVC, a9a, 32,561×123 sparse, C=1, γ=1/123 (objective: primal)",
            _fastest(1),
            race.run,
            kind="svc_rbf",
            data=a9a,
            score=objective.kernel_hinge,
            gamma="auto",
        ),
        Workload(
            "S6",
            "RBF SVC, 20,000 MNIST digits, 784 columns, 10 classes, C=1 (objective: primal, over the pairs)",
            _fastest(1),
            race.run,
            kind="svc_rbf",
            data=mnist(20_000),
            score=objective.kernel_hinge,
        ),
        Workload(
            "S7-predict",
            "RBF SVC predict, 10,000×50, about 6,100 support vectors (objective: share of wrong labels)",
            _fastest(1),
            race.run,
            kind="svc_rbf_predict",
            data=dense(10_000, 50),
            score=objective.errors,
            C=0.1,
        ),
        Workload(
            "S7-decision",
            "RBF SVC decision_function, as S7-predict (objective: share of wrong signs)",
            _fastest(1),
            race.run,
            kind="svc_rbf_decision",
            data=dense(10_000, 50),
            score=objective.errors,
            C=0.1,
        ),
        Workload(
            "P1",
            "perceptron, 5 epochs, 1,000,000×50",
            Goal("5× sklearn's speed", against={"sklearn": 5.0}),
            race.run,
            kind="perceptron",
            data=dense(1_000_000, 50),
            published={"sklearn": 2.1},
        ),
        Workload(
            "A1",
            "AdaBoost, 100 stumps, 50,000×50 (objective: errors on rows held out)",
            Goal("50× sklearn's speed", against={"sklearn": 50.0}),
            race.run,
            kind="adaboost",
            data=held_out(50_000, 50),
            score=objective.held_out_errors,
            spread=SPREAD,
            growth=True,
            published={"sklearn": 34.5},
        ),
        Workload(
            "E1",
            "extra-trees, 100 trees, 100,000×50 (objective: errors on rows held out)",
            Goal("2× the speed of both", against={"sklearnex": 2.0, "sklearn": 2.0}),
            race.run,
            kind="extra_trees",
            data=held_out(100_000, 50),
            score=objective.held_out_errors,
            spread=SPREAD,
            published={"sklearnex": 8.7, "sklearn": 9.8},
        ),
        Workload(
            "E1-predict",
            "extra-trees predict, 100 trees, 100,000 rows (objective: errors on the training rows)",
            Goal("not slower than sklearn", against={"sklearn": 1.0}),
            race.run,
            kind="extra_trees_predict",
            data=held_out(100_000, 50),
            score=objective.held_out_errors,
            spread=SPREAD,
        ),
        Workload(
            "E2",
            "bagging, 50 full trees, 100,000×50 (objective: errors on rows held out)",
            Goal("5× sklearn's speed", against={"sklearn": 5.0}),
            race.run,
            kind="bagged_trees",
            data=held_out(100_000, 50),
            score=objective.held_out_errors,
            spread=SPREAD,
            published={"sklearn": 211.0},
        ),
        Workload(
            "E3",
            "bagging, 50 logistic regressions, 100,000×50 (objective: errors on rows held out)",
            Goal("10× sklearn's speed", against={"sklearn": 10.0}),
            race.run,
            kind="bagged_logistic",
            data=held_out(100_000, 50),
            score=objective.held_out_errors,
            spread=SPREAD,
            published={"sklearn": 7.6},
        ),
        Workload(
            "C1",
            "cold start: import plus first LogisticRegression fit on iris, warm kernel cache",
            Goal("1.2× sklearn's time or less", speedup=1 / 1.2, reference="sklearn"),
            startup.run,
            kind="cold_start",
            score=objective.logistic,
        ),
        Workload(
            "C1-all",
            "first fit of every public estimator: import plus fit, caches empty (objective: errors on the rows)",
            Goal("at most 1.5 s above sklearn's, every one", above=1.5, reference="sklearn"),
            first_fits.run,
            kind="first_fit",
        ),
        Workload(
            "C2",
            "one-row predict_proba, fitted logistic",
            Goal("not slower than sklearn", speedup=1.0, reference="sklearn"),
            latency.run,
            kind="one_row",
            data=dense(10_000, 50),
            score=objective.logistic,
        ),
        *_small(),
        Workload(
            "F7",
            "grid search, 200 values of C by 5 folds: 1,000 small logistic fits (objective: error of the best)",
            Goal("less time than sklearn", speedup=1.0, reference="sklearn"),
            small.search,
            kind="search",
            data=tumours,
            spread=0.002,  # a row of 569
        ),
        Workload(
            "M1",
            "peak memory above the data for L1, N1, N2 (N1-predict: its fit included)",
            Goal("below 10 % of the data's size", share=0.10),
            memory.run,
            parts=("L1", "N1-fit", "N1-predict", "N2"),
        ),
    )
}
