"""Runs scripts, each in a fork of this process, which has loaded what all of them load and nothing of separatrix.

Standard input: a line `script<TAB>folder` for each. The script runs as a main program with SEPARATRIX_OUT=folder,
RuntimeWarning an error, and what it prints in folder/stdout and folder/stderr; standard output: its exit status.
Loading NumPy, SciPy, scikit-learn, Numba, pandas and matplotlib takes longer than most examples do.
"""

import importlib
import os
import runpy
import signal
import sys
import traceback
import warnings
from pathlib import Path

SECONDS = 600  # no example takes as long, however busy the machine


LOADED = ("matplotlib.pyplot", "numba", "pandas", "scipy.optimize", "scipy.stats", "sklearn.datasets",
          "sklearn.linear_model", "sklearn.model_selection")  # fmt: skip


def run(script, folder):
    """The script in this process, which ends with it."""
    signal.alarm(SECONDS)
    os.environ["SEPARATRIX_OUT"] = folder
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(Path(folder, name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.argv, sys.path[0] = [script], str(Path(script).parent)
    warnings.simplefilter("error", RuntimeWarning)
    code = 1
    try:
        runpy.run_path(script, run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main():
    for name in LOADED:
        importlib.import_module(name)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            run(*line.rstrip("\n").split("\t"))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
