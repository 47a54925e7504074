"""The race: separatrix and its peers on the workloads of BENCHMARKS.md, in one process run.

    python -m benchmarks                                   every workload, every peer installed
    python -m benchmarks L1 L2 --peers sklearn,sklearnex   narrowed
    python -m benchmarks --list                            what there is

    python -m benchmarks C1-all --python PATH              first fits from what is installed there

Beside the workloads of BENCHMARKS.md there are F1 to F7, small fits, predictions and a grid search, and C1-all, the
first fit of every public estimator (``make first-fits``: from a wheel of this tree).

Where things are: `workloads` says what is run; `race`, `startup`, `first_fits`, `latency`, `small` and `memory` how
it is measured, short calls by `turns`; `judge` what the figures mean, of several models `parts`; `report` how they
print; `peers` holds one adapter per rival; `datasets` and `text` make the data, `shared` reads the real tables beside
the project.
"""
