"""The race: separatrix and its peers on the workloads of BENCHMARKS.md, in one process run.

    python -m benchmarks                                   every workload, every peer installed
    python -m benchmarks L1 L2 --peers sklearn,sklearnex   narrowed
    python -m benchmarks --list                            what there is

Where things are: `workloads` says what is run, `race` / `startup` / `latency` / `memory` how it is measured,
`judge` what the figures mean, `report` how they print, `peers` holds one adapter per rival, `datasets` and
`text` make the data, `shared` reads the real tables beside the project.
"""
