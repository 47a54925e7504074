"""libsvm-official: kernel machines only. No workload of today uses it; S1 and S2 will."""

from __future__ import annotations

from benchmarks.peers.base import Peer


class Libsvm(Peer):
    """Declines every logistic task."""

    name = "libsvm"
    module = "libsvm"
    distribution = "libsvm-official"
    kinds = frozenset()
