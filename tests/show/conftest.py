"""No window is opened, and every figure is forgotten after its test."""

import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402


@pytest.fixture(autouse=True)
def forget_figures():
    yield
    plt.close("all")
