"""The numerical tests as other processors would run them: make test-processors.

    python tests/processors.py                       every setting, the numerical rooms
    python tests/processors.py --hardest prescott    one setting, the tests that ask the most of rounding

Three libraries choose their code by the processor they find, and each can be told to take an older one's: OpenBLAS
its products (OPENBLAS_CORETYPE), NumPy its loops (NPY_DISABLE_CPU_FEATURES), Numba what it compiles (NUMBA_CPU_NAME
with NUMBA_CPU_FEATURES: the name alone keeps every feature of the machine). The C library's exp and log, which differ
with and without fused multiply-add, follow GLIBC_TUNABLES. None of them complains about a word it does not know, and
NumPy's words change between versions: so what to disable is asked of NumPy itself, and a process under each setting
says what the libraries really chose before a test runs. A setting that is ignored fails.
"""

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Every folder of tests but these: they read, write and draw, and compute through the others.
LEFT_OUT = ("app", "benchmarks", "golden", "show", "tables")
# Laws at the edge of what floating point allows, references to many digits, proofs by a duality gap.
HARDEST = (
    "core",
    "solve",
    "verdict",
    "models/test_accuracy.py",
    "models/generative/test_chunks.py",
    "models/generative/test_generative_laws.py",
    "models/generative/test_missing_cells.py",
    "models/generative/test_storage.py",
    "models/generative/test_verified.py",
    "models/test_hard_numbers.py",
    "models/test_laws.py",
    "models/margin/test_svm_references.py",
)
# What a setting may say; a run starts from an environment without them.
VARIABLES = (
    "OPENBLAS_CORETYPE",
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "NPY_DISABLE_CPU_FEATURES",
    "NUMBA_CPU_NAME",
    "NUMBA_CPU_FEATURES",
    "GLIBC_TUNABLES",
)

V2 = {"SSE", "SSE2", "SSE3", "SSSE3", "SSE41", "SSE42", "POPCNT", "X86_V2"}
V3 = V2 | {"AVX", "F16C", "FMA3", "AVX2", "X86_V3"}
NO_AVX512 = "-AVX512F,-AVX512VL"


@dataclass(frozen=True)
class Setting:
    """What one processor has, in the words of each library that asks."""

    openblas: str  # OpenBLAS's name of its products
    reported: set[str]  # what OpenBLAS may answer once it has taken them
    keeps: set[str]  # NumPy's features
    numba: str  # LLVM's name of the processor
    glibc: str  # what the C library leaves out
    threads: int | None = None  # of OpenBLAS: how a sum is divided among them shows in its last digits


SETTINGS = {
    "haswell": Setting("Haswell", {"Haswell"}, V3, "x86-64-v3", NO_AVX512),
    # In the OpenBLAS of NumPy's and SciPy's wheels one set of products serves both and answers Haswell; one thread
    # makes the difference.
    "zen": Setting("Zen", {"Zen", "Haswell"}, V3, "x86-64-v3", NO_AVX512, threads=1),
    "sandybridge": Setting(
        "Sandybridge", {"Sandybridge"}, V2 | {"AVX"}, "x86-64-v2", f"-AVX2,-FMA,-FMA4,{NO_AVX512}"
    ),
    # One set of products serves all that have SSE3 at most, and answers with the oldest of them.
    "prescott": Setting(
        "Prescott", {"Prescott", "Katmai"}, V2, "x86-64-v2", f"-AVX,-AVX2,-FMA,-FMA4,{NO_AVX512}"
    ),
}


def numerical():
    """The numerical rooms, and the examples of docstrings and README, which print digits."""
    folders = sorted(path.name for path in (ROOT / "tests").iterdir() if any(path.glob("test_*.py")))
    return [f"tests/{name}" for name in folders if name not in LEFT_OUT] + ["src", "tests/test_readme.py"]


def chosen():
    """What the libraries of this process took: OpenBLAS's products, NumPy's features and which of them it can be told
    to leave, Numba's processor, and values of the C library's functions, which tell one rounding from another.
    """
    import numba.core.registry
    import scipy.linalg  # noqa: F401  (brings its own OpenBLAS)
    from numpy._core import _multiarray_umath as umath
    from threadpoolctl import threadpool_info

    libraries = [lib for lib in threadpool_info() if lib["internal_api"] == "openblas"]
    _, name, words = numba.core.registry.cpu_target.target_context.codegen().magic_tuple()
    return {
        "openblas": [lib["architecture"] for lib in libraries],
        "threads": [lib["num_threads"] for lib in libraries],
        "features": umath.__cpu_features__,
        "dispatched": [feature for feature in umath.__cpu_dispatch__ if umath.__cpu_features__.get(feature)],
        "numba": [name, words],
        "libm": [
            f(0.1 + 0.001 * i).hex() for i in range(3000) for f in (math.exp, math.log, math.sin, math.tan)
        ],
    }


def under(variables):
    """The environment of a process under these variables and none of the others."""
    return {k: v for k, v in os.environ.items() if k not in VARIABLES} | variables


def ask(variables):
    """What a new process under these variables chose."""
    command = [sys.executable, __file__, "--chosen"]
    ran = subprocess.run(command, env=under(variables), stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(ran.stdout)


def why_not(setting, machine):
    """Why this machine cannot play the processor, or None."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return f"{platform.machine()} is another family of processors"
    missing = sorted(feature for feature in setting.keeps if machine["features"].get(feature) is False)
    return f"this machine has no {', '.join(missing)}" if missing else None


def variables_of(setting, machine):
    """The variables that make a process on this machine take what the setting says."""
    made = {
        "OPENBLAS_CORETYPE": setting.openblas,
        "NUMBA_CPU_NAME": setting.numba,
        "NUMBA_CPU_FEATURES": "",
        "GLIBC_TUNABLES": f"glibc.cpu.hwcaps={setting.glibc}",
    }
    if left := [feature for feature in machine["dispatched"] if feature not in setting.keeps]:
        made["NPY_DISABLE_CPU_FEATURES"] = " ".join(left)
    if setting.threads is not None:
        made["OPENBLAS_NUM_THREADS"] = made["OMP_NUM_THREADS"] = str(setting.threads)
    return made


def ignored(setting, found):
    """What of the setting did not take effect, as sentences."""
    wrong = []
    if not found["openblas"] or not set(found["openblas"]) <= setting.reported:
        wrong.append(f"OPENBLAS_CORETYPE={setting.openblas}: OpenBLAS runs {found['openblas'] or 'nowhere'}")
    if setting.threads is not None and set(found["threads"]) != {setting.threads}:
        wrong.append(f"OPENBLAS_NUM_THREADS={setting.threads}: OpenBLAS runs {found['threads']} threads")
    if over := [feature for feature in found["dispatched"] if feature not in setting.keeps]:
        wrong.append(f"NPY_DISABLE_CPU_FEATURES: NumPy still uses {', '.join(over)}")
    name, words = found["numba"]
    if name != setting.numba or "+" in words:
        wrong.append(f"NUMBA_CPU_NAME={setting.numba}: Numba compiles for {name} {words}")
    return wrong


def described(found, machine):
    return (
        f"OpenBLAS {', '.join(sorted(set(found['openblas'])))}, {max(found['threads'])} threads"
        f" · NumPy {', '.join(found['dispatched']) or 'baseline'} · Numba {found['numba'][0]}"
        f" · C library {'as' if found['libm'] == machine['libm'] else 'with other roundings than'} on this machine"
    )


def run(name, machine, paths, jobs, extra):
    """The tests of `paths` under one setting: what came of it in words, and whether all is well."""
    setting = SETTINGS[name]
    if reason := why_not(setting, machine):
        return f"skipped: {reason}", True
    variables = variables_of(setting, machine)
    found = ask(variables)
    if wrong := ignored(setting, found):
        return f"FAILED, the setting is ignored: {'; '.join(wrong)}", False
    print(f"{name}: {described(found, machine)}", flush=True)
    start = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-q", "-n", jobs, "--dist", "worksteal", *paths, *extra]
    code = subprocess.run(command, cwd=ROOT, env=under(variables)).returncode
    return f"{'passed' if code == 0 else 'FAILED'} in {time.monotonic() - start:.0f} s", code == 0


def main():
    parser = argparse.ArgumentParser(
        description="The numerical tests as other processors would run them. What follows -- goes to pytest."
    )
    parser.add_argument(
        "settings", nargs="*", metavar="SETTING", help=f"of {', '.join(SETTINGS)}; all by default"
    )
    parser.add_argument("--hardest", action="store_true", help="only the tests that ask the most of rounding")
    parser.add_argument("--jobs", default="2", help="test processes at once")
    parser.add_argument(
        "--chosen", action="store_true", help="print what the libraries of this process chose"
    )
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    given, extra = parser.parse_args(words[:cut]), words[cut + 1 :]
    if given.chosen:
        print(json.dumps(chosen()))
        return 0
    if unknown := set(given.settings) - set(SETTINGS):
        parser.error(f"no setting {', '.join(sorted(unknown))}: choose from {', '.join(SETTINGS)}")
    paths = [f"tests/{path}" for path in HARDEST] if given.hardest else numerical()
    machine = ask({})
    results = {name: run(name, machine, paths, given.jobs, extra) for name in given.settings or SETTINGS}
    print("\nprocessors:")
    for name, (line, _) in results.items():
        print(f"  {name:12} {line}")
    return 0 if all(well for _, well in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
