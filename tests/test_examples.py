"""Every example runs from a clean process, says where it wrote, and leaves a picture with something on it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

plt = pytest.importorskip("matplotlib.pyplot")

ROOT = Path(__file__).resolve().parents[1]
# demo.py is a race over real sets, too long for here; files with a leading _ serve the others.
SCRIPTS = sorted(
    p.name for p in (ROOT / "examples").glob("*.py") if not p.name.startswith("_") and p.name != "demo.py"
)


@pytest.mark.parametrize("name", SCRIPTS)
def test_example_runs_and_draws(name, tmp_path):
    environment = os.environ | {
        "MPLBACKEND": "Agg",
        "SEPARATRIX_OUT": str(tmp_path),
        "PYTHONIOENCODING": "utf-8",
    }
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", str(ROOT / "examples" / name)],
        cwd=ROOT, env=environment, capture_output=True, text=True, encoding="utf-8", timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr, done.stderr
    picture = tmp_path / f"{name.removesuffix('.py')}.png"
    assert f"wrote {picture}" in done.stdout
    image = plt.imread(picture)
    assert min(image.shape[:2]) > 500
    assert image[..., :3].std() > 0.05  # not a blank sheet
    assert image[0, :, :3].min() > 0.99  # nothing runs over the top edge


def test_every_example_is_listed():
    listed = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    assert [name for name in SCRIPTS if f"({name})" not in listed] == []
