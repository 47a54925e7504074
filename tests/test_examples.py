"""Every example runs from a clean process, says where it wrote, and leaves a picture with something on it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

plt = pytest.importorskip("matplotlib.pyplot")

ROOT = Path(__file__).resolve().parents[1]
# demo.py is a race over real sets, too long for here; files with a leading _ serve the others.
# More than a few seconds each on an idle machine.
SLOW = {
    "b3_bic_small_n.py", "e2_label_noise.py", "e3_bagging.py", "g10_em_and_missing.py", "m11_price_of_slack.py",
    "m12_probabilities.py", "o4_command_line.py", "t2_newsgroups.py", "v1_honest_evaluation.py", "v2_ng_jordan.py",
    "v3_boosting_curves.py", "v5_bias_variance.py",
}  # fmt: skip
SCRIPTS = sorted(
    p.name for p in (ROOT / "examples").glob("*.py") if not p.name.startswith("_") and p.name != "demo.py"
)


@pytest.fixture(scope="module")
def runner():
    """(exit status, what was printed, what was complained of) of a script, run in a process of its own."""
    environment = os.environ | {"MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8"}
    if not hasattr(os, "fork"):
        yield lambda script, folder: alone(script, folder, environment)
        return
    with subprocess.Popen(
        [sys.executable, str(ROOT / "tests" / "forked.py")],
        cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
    ) as server:  # fmt: skip

        def forked(script, folder):
            print(script, folder, sep="\t", file=server.stdin, flush=True)
            code = int(server.stdout.readline())
            return code, *((folder / name).read_text(encoding="utf-8") for name in ("stdout", "stderr"))

        yield forked
        server.stdin.close()


def alone(script, folder, environment):
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", str(script)], cwd=ROOT, timeout=600,
        env=environment | {"SEPARATRIX_OUT": str(folder)}, capture_output=True, text=True, encoding="utf-8",
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in SCRIPTS]
)
def test_example_runs_and_draws(name, tmp_path, runner):
    code, said, complained = runner(ROOT / "examples" / name, tmp_path)
    assert code == 0, complained
    assert "Warning" not in complained, complained
    picture = tmp_path / f"{name.removesuffix('.py')}.png"
    assert f"wrote {picture}" in said
    image = plt.imread(picture)
    assert min(image.shape[:2]) > 500
    assert image[..., :3].std() > 0.05  # not a blank sheet
    assert image[0, :, :3].min() > 0.99  # nothing runs over the top edge


def test_every_example_is_listed():
    assert set(SCRIPTS) >= SLOW
    listed = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    assert [name for name in SCRIPTS if f"({name})" not in listed] == []


def test_a_script_that_breaks_or_warns_is_noticed(tmp_path, runner):
    script = tmp_path / "broken.py"
    for line, word in (
        ("1 / 0", "ZeroDivisionError"),
        ("np.float64(1) / 0", "RuntimeWarning"),
        ("exit(3)", ""),
    ):
        script.write_text(f"import sys, numpy as np\nassert 'separatrix' not in sys.modules\n{line}\n")
        code, _, complained = runner(script, tmp_path)
        assert code == (3 if "exit" in line else 1) and word in complained
