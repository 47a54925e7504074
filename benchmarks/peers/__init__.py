"""One adapter per rival. Adding one is a file here and its name in the tuple below."""

from __future__ import annotations

from benchmarks.peers.base import Peer
from benchmarks.peers.glum import Glum
from benchmarks.peers.liblinear import Liblinear
from benchmarks.peers.libsvm import Libsvm
from benchmarks.peers.null import Null
from benchmarks.peers.separatrix import Separatrix, SeparatrixPlain
from benchmarks.peers.sklearn import Sklearn, SklearnLsqr, SklearnNewton, SklearnOneThread, SklearnSvd
from benchmarks.peers.sklearnex import Sklearnex
from benchmarks.peers.statsmodels import Statsmodels

PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Separatrix(),
        SeparatrixPlain(),
        Sklearn(),
        SklearnOneThread(),
        SklearnNewton(),
        SklearnLsqr(),
        SklearnSvd(),
        Sklearnex(),
        Glum(),
        Liblinear(),
        Libsvm(),
        Statsmodels(),
        Null(),
    )
}
