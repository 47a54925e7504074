"""What a solver needs and what it takes: an impossible pair fails in one sentence, before the data are touched."""

import inspect

import dask.array as da
import numpy as np
import pytest

from separatrix import LogisticRegression
from separatrix.core.losses import (
    Hinge,
    Logistic,
    Multinomial,
    Perceptron,
    Squared,
    SquaredHinge,
)
from separatrix.data.door import rows_of
from separatrix.solve.linear import Problem, minimise
from separatrix.solve.registry import ALIASES, REFUSED, SOLVERS, STAND_INS, refuse_lazy, resolve
from tests.losses import EpsilonInsensitive, Exponential

LOSSES = [
    Logistic(),
    Multinomial(),
    Squared(),
    SquaredHinge(),
    Exponential(),
    Hinge(),
    Perceptron(),
    EpsilonInsensitive(),
]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
every_solver = pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS.keys())


class Explosive:
    """Data that may not be touched, not even asked for their type's attributes."""

    def __getattribute__(self, name):
        raise AssertionError(f"the data were touched: {name}")

    def __len__(self):
        raise AssertionError("the data were measured")

    def __array__(self, *_, **__):
        raise AssertionError("the data were read")


def one_sentence(error):
    """A refusal is one line, says who cannot do what, and ends with a way out."""
    text = str(error.value)
    assert "\n" not in text and 20 < len(text) < 400
    return text


# ---- what a solver declares ----


@every_solver
def test_a_solver_takes_exactly_the_options_it_declares(solver):
    parameters = inspect.signature(solver.run).parameters
    callers = {"warm", "seed", "exists", "errors", "doubt", "first", "bound"}
    own = {n for n, p in parameters.items() if p.kind is p.KEYWORD_ONLY} - callers
    assert own == set(solver.options)
    assert all(isinstance(meaning, str) and meaning for meaning in solver.options.values())


@every_solver
def test_solvers_are_found_by_their_own_name(solver):
    assert SOLVERS[solver.name] is solver
    assert resolve(solver.name, Logistic(), None) is solver
    assert resolve(solver.name, Logistic(), {}) is solver


def test_goals_are_tighter_for_a_quadratic_method():
    assert SOLVERS["newton"].goal(1e-4) < SOLVERS["lbfgs"].goal(1e-4) <= 1e-4


def test_auto_is_left_open_until_the_shape_is_known():
    for loss in LOSSES:
        assert resolve("auto", loss, None) is None
    assert resolve("auto", Logistic(), {}) is None


def test_scikit_learns_names_with_a_counterpart_mean_it():
    assert resolve("newton-cholesky", Logistic(), None) is SOLVERS["newton"]
    assert resolve("lbfgs", Logistic(), None) is SOLVERS["lbfgs"]
    assert set(ALIASES.values()) <= set(SOLVERS)
    scikit_learns = {"lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"}
    assert scikit_learns == (set(SOLVERS) & scikit_learns) | set(ALIASES) | set(REFUSED)
    assert set(STAND_INS) == set(REFUSED)


# ---- impossible pairs ----


@every_loss
def test_newton_needs_a_curvature(loss):
    if loss.curved:
        assert resolve("newton", loss, None) is SOLVERS["newton"]
        return
    with pytest.raises(ValueError, match=r"needs a curvature and the .* loss has none") as error:
        resolve("newton", loss, None)
    assert loss.name in one_sentence(error) and "sgd" in str(error.value)


@every_loss
@pytest.mark.parametrize("name", ["lbfgs", "gradient"])
def test_first_order_methods_need_a_smooth_loss(loss, name):
    if loss.smooth:
        assert resolve(name, loss, None) is SOLVERS[name]
        return
    with pytest.raises(ValueError, match=f'solver "{name}" needs') as error:
        resolve(name, loss, None)
    assert loss.name in one_sentence(error)


def test_the_exponential_loss_is_refused_for_what_it_lacks():
    """It has no corner anywhere: its slope has no bound."""
    with pytest.raises(ValueError) as error:
        resolve("lbfgs", Exponential(), None)
    assert "corner" not in str(error.value) and "jump" not in str(error.value)


@every_loss
def test_sgd_takes_every_loss(loss):
    assert resolve("sgd", loss, None) is SOLVERS["sgd"]


# ---- names and options ----


@pytest.mark.parametrize("name", REFUSED)
def test_scikit_learns_other_names_are_refused_with_ours(name):
    with pytest.raises(ValueError, match="has no counterpart here") as error:
        resolve(name, Logistic(), None)
    text = one_sentence(error)
    assert name in text and any(f'"{ours}"' in text for ours in ("auto", *SOLVERS))


@pytest.mark.parametrize("name", ["quantum", "", "Newton", "NEWTON", "newton "])
def test_an_unknown_name_is_refused_with_the_known_ones(name):
    with pytest.raises(ValueError, match="is unknown: use one of") as error:
        resolve(name, Logistic(), None)
    assert all(f'"{known}"' in one_sentence(error) for known in ("auto", *SOLVERS))


@every_solver
def test_an_unknown_option_is_refused_with_the_known_ones(solver):
    with pytest.raises(ValueError, match=f"solver '{solver.name}' has no option 'speed'; it takes") as error:
        resolve(solver.name, Logistic(), {"speed": 11})
    assert all(option in one_sentence(error) for option in solver.options)


@every_solver
def test_another_solvers_option_is_refused(solver):
    for other in SOLVERS.values():
        for option in set(other.options) - set(solver.options):
            with pytest.raises(ValueError, match="has no option"):
                resolve(solver.name, Logistic(), {option: 1})


def test_options_belong_to_a_named_solver():
    with pytest.raises(ValueError, match='name it with solver=… instead of "auto"') as error:
        resolve("auto", Logistic(), {"eta": 0.1})
    one_sentence(error)


# ---- before the data are read ----


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"solver": "quantum"}, "is unknown"),
        ({"solver": "liblinear", "solver_options": {"eta": 0.1}}, "leaves the choice to"),
        ({"solver": "saga", "l1_ratio": 0.5}, "an l1 penalty is not offered"),
        ({"solver": "newton", "solver_options": {"eta": 0.1}}, "has no option 'eta'"),
        ({"solver": "sgd", "solver_options": {"theta": 0.1}}, "has no option 'theta'"),
        ({"solver_options": {"eta": 0.1}}, "name it with solver"),
        ({"C": 0}, "C must be a positive number"),
        ({"C": -1}, "C must be a positive number"),
        ({"C": np.nan}, "C must be a positive number"),
        ({"tol": 0}, "tol must be a positive number"),
        ({"max_iter": 0}, "max_iter must be a whole number"),
    ],
)
def test_an_estimator_refuses_before_it_touches_the_data(parameters, message):
    with pytest.raises(ValueError, match=message) as error:
        LogisticRegression(**parameters).fit(Explosive(), Explosive(), Explosive())
    one_sentence(error)


def test_the_explosive_would_have_exploded():
    with pytest.raises(AssertionError, match=r"touched|measured|read"):
        LogisticRegression().fit(Explosive(), [0, 1])


# ---- rows that are not in memory ----


class Unread(Exception):
    pass


def lazy_table():
    """A Dask array whose cells must not be computed."""

    def explode(_):
        raise Unread

    return da.map_blocks(explode, da.zeros((20, 2), chunks=(5, 2)), dtype=float, meta=np.empty((0, 0)))


@every_solver
def test_only_ordered_methods_refuse_a_lazy_source(solver):
    if not solver.needs_memory:
        refuse_lazy(solver)
        return
    with pytest.raises(ValueError, match="needs them in memory") as error:
        refuse_lazy(solver)
    text = one_sentence(error)
    assert '"newton" or "lbfgs"' in text and "compute()" in text


def test_sgd_on_a_lazy_source_is_refused_by_minimise():
    X = np.random.default_rng(0).normal(size=(20, 2))
    y = np.where(np.arange(20) % 2, 1.0, -1.0)
    rows = rows_of(None, da.from_array(X, chunks=(5, 2)), y)
    problem = Problem(rows, rows.moments(), Logistic(), 0.1, True)
    with pytest.raises(ValueError, match="needs them in memory"):
        minimise(problem, SOLVERS["sgd"], tol=1e-4, max_iter=5)


def test_sgd_on_a_lazy_source_is_refused_by_the_estimator():
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match=r"needs them in memory.*X\.compute\(\) first"):
        LogisticRegression(solver="sgd").fit(da.from_array(X, chunks=(5, 2)), np.arange(20) % 2)


def test_sgd_on_a_lazy_source_is_refused_before_it_is_read():
    with pytest.raises(ValueError, match="needs them in memory"):
        LogisticRegression(solver="sgd").fit(lazy_table(), np.arange(20) % 2)


# ---- values of options ----


@pytest.mark.parametrize(
    "solver, options",
    [
        ("newton", {"theta": 0.0}),
        ("newton", {"theta": -1.0}),
        ("lbfgs", {"memory": 0}),
        ("lbfgs", {"memory": -1}),
        ("lbfgs", {"memory": 2.5}),
        ("gradient", {"threshold": -1.0}),
        ("gradient", {"eta": "fast"}),
        ("sgd", {"batch": 2.5}),
        ("sgd", {"batch": "all"}),
    ],
)
def test_an_options_value_that_cannot_be_meant_is_refused_by_name(solver, options):
    with pytest.raises(ValueError, match=next(iter(options))):
        LogisticRegression(solver=solver, solver_options=options).fit(Explosive(), Explosive())
