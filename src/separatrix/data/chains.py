"""Work in chains: link m of a chain begins when its link m − 1 has ended; chains run side by side on the engine.

    links     0 → 1 → 2 → …     of chain 0
              0 → 1 → 2 → …     of chain 1          taken in the order (0, 0), (0, 1), …, (1, 0), (1, 1), …

For paths of a rising parameter on several folds (row M11). Links are taken in order, so what an error or Ctrl-C
leaves finished is the beginning of every chain, and nothing goes on in the background. Cost: a lock a link.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext

from separatrix.data.engine import available_cores, current_engine, each_in_threads, engine, one_blas_thread


def hands(chains: int) -> int:
    """How many chains the current engine runs side by side."""
    chosen = current_engine()
    return 1 if chosen.kind == "serial" else min(chosen.workers or available_cores(), chains)


class Chains:
    """A run of chains that can be asked to stop; ``stopped`` says whether it was.

    Examples
    --------
    >>> seen = []
    >>> run = Chains()
    >>> run.run(lambda link, chain: seen.append((link, chain)), links=2, chains=2, side_by_side=1)
    >>> seen, run.stopped
    ([(0, 0), (0, 1), (1, 0), (1, 1)], False)
    """

    def __init__(self) -> None:
        self.stopped = False
        self._changed = threading.Condition()
        self._under_way = 0

    def run(
        self,
        work: Callable[[int, int], None],
        links: int,
        chains: int,
        side_by_side: int,
        ended: Callable[[int], None] = lambda link: None,
    ) -> None:
        """work(link, chain) for all; ``ended(link)`` when all chains have passed it. One thread a chain at most."""
        reached = [0] * chains  # links that have ended

        def step(task: tuple[int, int]) -> None:
            link, chain = task
            with self._changed:
                self._changed.wait_for(lambda: reached[chain] == link or self.stopped)
                if self.stopped:
                    return
                self._under_way += 1
            try:
                with engine("serial") if side_by_side > 1 else nullcontext(), one_blas_thread():
                    work(link, chain)
                with self._changed:
                    if not self.stopped:
                        reached[chain] += 1
                        if min(reached) == link + 1:
                            ended(link)
            except BaseException:
                self.stopped = True
                raise
            finally:
                with self._changed:
                    self._under_way -= 1
                    self._changed.notify_all()

        tasks = [(link, chain) for link in range(links) for chain in range(chains)]
        try:
            if side_by_side > 1:
                each_in_threads(step, tasks)
            else:
                for task in tasks:
                    step(task)
        except BaseException:
            self.stopped = True
            raise
        finally:
            with self._changed:
                self._changed.wait_for(lambda: self._under_way == 0)
