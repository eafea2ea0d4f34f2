"""Markov chains that are swept together: the runner of dependent mixtures and topic models."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np

from evermix.engines.run import interrupts_wait


class ChainState(Protocol):
    """Where a chain stands."""

    def copy(self) -> Self:
        """Return a state with arrays of its own, wherever a sweep writes into them."""


State = TypeVar("State", bound=ChainState)
Draw = TypeVar("Draw")
Known = TypeVar("Known")


class ChainRun(ABC, Generic[State, Draw]):
    """Several chains of one posterior, each in a thread of its own, and the draws that are kept."""

    def __init__(
        self, chains: list[State], rngs: list[np.random.Generator], sweeps: int = 0
    ) -> None:
        self.chains, self.rngs = chains, rngs
        self.sweeps = sweeps  # so far, burn-in included
        self.kept = False  # whether draws of the last sweep were kept
        self.answers: dict[str, Any] = {}  # derived from the draws, until there are new ones

    def go_on(self, burn_in: int, draws: int, after: Callable[[], None]) -> None:
        """Sweep until there are as many draws as wanted; call ``after`` when a sweep is complete.

        Interrupts wait for both.
        """
        while self.sweeps < self.burnt_in(burn_in) + draws:
            with interrupts_wait():
                self.sweep(keep=self.sweeps >= self.burnt_in(burn_in))
                after()

    def burnt_in(self, burn_in: int) -> int:
        """Return after how many sweeps draws are kept, at most ``burn_in``."""
        return burn_in

    def sweep(self, keep: bool) -> None:
        """Sweep over all chains once, and keep draws of them.

        If that fails, for want of memory for example, everything is as it was before: sweeps move
        copies, which share with the chains whatever no sweep writes into.
        """
        chains = [chain.copy() for chain in self.chains]
        before = [rng.bit_generator.state for rng in self.rngs]
        try:
            self._move_all(chains)
            drawn = [self._draw(i, chain) for i, chain in enumerate(chains)] if keep else []
            seen = None if keep else self._look(chains)
        except BaseException:
            for rng, state in zip(self.rngs, before, strict=True):
                rng.bit_generator.state = state
            raise
        self.chains, self.kept = chains, keep
        self.sweeps += 1
        self.answers.clear()
        if keep:
            self._keep(drawn)
        else:
            self._burn(seen)

    def _look(self, chains: list[State]) -> Any:
        """Return what :meth:`_burn` wants to know of a sweep of the burn-in."""
        return None

    def _burn(self, seen: Any) -> None:
        """Take note of a sweep of the burn-in; this must not fail half way."""

    def _move_all(self, chains: list[State]) -> None:
        if len(chains) == 1:
            self._move(chains[0], self.rngs[0])
            return
        with ThreadPoolExecutor(len(chains)) as pool:
            list(pool.map(self._move, chains, self.rngs))

    @property
    @abstractmethod
    def n_draws(self) -> int:
        """Number of draws of each chain that were kept."""

    @abstractmethod
    def last(self) -> Any:
        """Return a summary of the last sweep, for observers."""

    @abstractmethod
    def _move(self, chain: State, rng: np.random.Generator) -> None:
        """Sweep over one chain.   Consumes: chain."""

    @abstractmethod
    def _draw(self, number: int, chain: State) -> Draw:
        """Return what is kept of a chain."""

    @abstractmethod
    def _keep(self, drawn: list[Draw]) -> None:
        """Keep one draw of each chain; this must not fail half way."""


class DrawsThatGoOn(Generic[Known]):
    """A few draws of a fit that go on with new data, in the place of its chains."""

    def __init__(self, known: list[Known], sweeps: int) -> None:
        self.known = known  # the draw that is shown first
        self.sweeps = sweeps  # so far, over data of the past too

    @property
    def n_draws(self) -> int:
        """Number of draws."""
        return len(self.known)

    def burnt_in(self, burn_in: int) -> int:
        """Return zero: draws of a fit go on, whose burn-in has ended."""
        del burn_in
        return 0


def chosen(shown: Draw, others: Sequence[Draw], n: int) -> list[Draw]:
    """Return the draw that a fit shows, and others, evenly spaced: n in all, if there are."""
    n = min(n - 1, len(others))
    return [shown, *(others[(i * len(others)) // n] for i in range(n))]
