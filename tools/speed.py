"""Compare the speed of two checkouts, measured in turn in one run.

    python tools/speed.py OLD NEW [--data DIR] [--repeats R] [--pairs P] [--only NAME,...]

For each piece of work a process for each checkout prepares the data, runs the work once, which
compiles what has to be, and then runs it whenever it is its turn. So a slow moment of the machine
hits both. Times are processor times on one thread. Another pair of processes may differ by a few
percent, whatever is in them, so there are several. One JSON object is printed: for each piece of
work the median ratio new / old, its quartiles, the medians of the pairs and the ratio of the
fastest turns, which says most on a busy machine; seconds of each side; and whether both found the
same.

DIR holds ``kos/kos.npz`` and ``neurips_abstracts/neurips2007_2011.npz`` (CSR matrices); without
them documents are drawn. It is EVERMIX_DATA unless it is given.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
IMPORT = "import"
TIMED_IMPORT = """
import json, time
began = time.process_time()
import evermix
print(json.dumps([time.process_time() - began, evermix.__name__]))
"""
HELD_OUT = 686  # posts of KOS that are left out, as in the published experiment


class Work(NamedTuple):
    """Something to time."""

    call: Callable[[], tuple[float, Any]]
    """Does the work once, and returns its processor time in seconds and what it found."""
    amount: int = 0
    """How much of ``unit`` the work is."""
    unit: str = ""


# ---- what is timed, in a process of the checkout ------------------------------------------------


def timed(work: Callable[[], Any]) -> Callable[[], tuple[float, Any]]:
    """Return work that says how long it took."""

    def call() -> tuple[float, Any]:
        began = time.process_time()
        found = work()
        return time.process_time() - began, found

    return call


def drawn_documents(n: int, words: int, length: int) -> Any:
    """Return counts (n, words) of documents that mix 2 of 30 topics."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(words, 0.02), size=30)
    pairs = rng.integers(30, size=(n, 2))
    X = [rng.multinomial(length, topics[pair].mean(axis=0)) for pair in pairs]
    return sparse.csr_array(np.array(X, dtype=np.float64))


def corpus(data: Path | None, name: str) -> Any:
    """Return the counts of a corpus of the data folder, or drawn ones."""
    file = None if data is None else data / name
    if file is None or not file.is_file():
        return drawn_documents(1000, 2000, 80)
    return sparse.csr_array(sparse.load_npz(file)).astype(np.float64)


def kos_mixture(data: Path | None, engine: Any) -> tuple[Any, Any]:
    """Return the published model of the KOS posts, and the posts in random order."""
    import evermix as em

    X = corpus(data, "kos/kos.npz")
    X = X[np.random.default_rng(0).permutation(X.shape[0])[min(HELD_OUT, X.shape[0] // 5) :]]
    prior = em.NGGP(a=10.0, sigma=0.5, tau=100.0)
    return em.Mixture(em.Multinomial(alpha=0.1), prior, engine, random_state=0), X


def adf_pass(data: Path | None) -> Work:
    """One pass of ADF over KOS."""
    from sklearn.base import clone

    import evermix as em

    mix, X = kos_mixture(data, em.ADF(birth=0.1, merge=None))
    return Work(timed(lambda: clone(mix).partial_fit(X).n_clusters_), X.shape[0], "rows")


def ep_lap(data: Path | None) -> Work:
    """One lap of EP over KOS, the first not counted."""
    import evermix as em

    return _laps(*kos_mixture(data, em.EP(laps=4, birth=0.1, merge=None, tol=0.0)))


def gibbs_sweep(data: Path | None) -> Work:
    """One sweep of Gibbs over KOS, the first not counted."""
    import evermix as em

    return _laps(*kos_mixture(data, em.Gibbs(sweeps=5, burn_in=4)))


def _laps(mix: Any, X: Any) -> Work:
    """Return the median of the laps of a fit but the first."""

    def call() -> tuple[float, Any]:
        ends: list[float] = []

        def watch(_: Any, info: Any) -> None:
            if not info.rows:  # a lap has ended
                ends.append(time.process_time())

        mix.fit(X, observers=[watch])
        return median(np.diff(ends).tolist()), mix.n_clusters_

    return Work(call, X.shape[0], "rows")


def memoized_edges(data: Path | None) -> Work:
    """A fit of MemoizedVB to patches with edges: 8 Gaussians of mean zero."""
    del data
    import evermix as em

    i, j = np.indices((5, 5))
    shapes = [i < 2, j <= i, j <= i + 2, j <= i - 2]
    edges = np.array([np.rot90(one, turn).ravel() for turn in (0, 1) for one in shapes], float)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 1)) * edges[rng.integers(8, size=10_000)]
    X += 0.006 * rng.normal(size=X.shape)
    family = em.ZeroMeanGaussian(nu=27.0, scale=1e-3)
    engine = em.MemoizedVB(laps=6, batch_size=1_000, tol=0.0)
    mix = em.Mixture(family, em.DP(1.0), engine, random_state=0)
    return Work(timed(lambda: mix.fit(X).lower_bound_))


def hdp_words(data: Path | None) -> Work:
    """Ten sweeps of the hierarchical Dirichlet process over abstracts, after 100."""
    import evermix as em

    X = corpus(data, "neurips_abstracts/neurips2007_2011.npz")
    topics = em.TopicModel(em.HDP(), burn_in=99, draws=1, random_state=0).fit(X)

    def sweeps() -> float:
        topics.set_params(burn_in=topics.burn_in + 10).resume(X)
        return float(topics.traces_["log_joint"][-1])

    return Work(timed(sweeps), 10 * int(X.sum()), "words")


def rows_one_by_one(mix: Any, X: Any, first: int, each: int = 200) -> Work:
    """A stream of single rows, after the first ones."""
    mix.partial_fit(X[:first])
    rows = [X[[i]] for i in range(first, X.shape[0])]
    place = 0

    def learn() -> int:
        nonlocal place
        for _ in range(each):
            mix.partial_fit(rows[place % len(rows)])
            place += 1
        return int(mix.n_clusters_)

    return Work(timed(learn), each, "rows")


def vector_stream(data: Path | None) -> Work:
    """Single vectors, with the default settings."""
    del data
    import evermix as em

    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 5)) + 6 * rng.integers(0, 4, size=(4000, 1))
    return rows_one_by_one(em.Mixture(), X, first=2000)


def count_stream(data: Path | None) -> Work:
    """Single rows of counts, with the default settings."""
    del data
    import evermix as em

    return rows_one_by_one(em.Mixture(), drawn_documents(3000, 500, 40), first=1500)


WORK: dict[str, Callable[[Path | None], Work]] = {
    "adf_pass": adf_pass,
    "ep_lap": ep_lap,
    "gibbs_sweep": gibbs_sweep,
    "memoized_edges": memoized_edges,
    "hdp_words": hdp_words,
    "vector_stream": vector_stream,
    "count_stream": count_stream,
}


def serve(name: str, data: Path | None) -> None:
    """Prepare a piece of work, do it once, then once for every line of the standard input."""
    work = WORK[name](data)
    work.call()
    import evermix

    print(json.dumps([evermix.__file__, work.amount, work.unit]), flush=True)
    for _ in sys.stdin:
        print(json.dumps(work.call()), flush=True)


# ---- the process that measures ------------------------------------------------------------------


class Child:
    """A process that times one piece of work of a checkout on demand."""

    def __init__(self, checkout: Path, name: str, data: Path | None) -> None:
        command = [sys.executable, __file__, "--serve", name]
        command += ["--data", str(data)] if data else []
        self._process = subprocess.Popen(
            command,
            env=_environment(checkout),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        file, self.amount, self.unit = self._line()
        if not Path(file).is_relative_to(checkout.resolve() / "src"):
            raise SystemExit(f"{checkout} was to be measured, but {file} was imported.")

    def _line(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self._process.args!r} ended before its work was done.")
        return json.loads(line)

    def time(self) -> list[Any]:
        """Return the seconds of one piece of work, and what it found."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return list(self._line())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()  # closes its standard input, which ends it


class Import:
    """Times the import of the package, in a new process each time."""

    amount, unit = 0, ""

    def __init__(self, checkout: Path) -> None:
        self._checkout = checkout
        self.time()

    def time(self) -> list[Any]:
        """Return the processor time of one import."""
        command = [sys.executable, "-c", TIMED_IMPORT]
        environment = _environment(self._checkout)
        done = subprocess.run(command, env=environment, check=True, capture_output=True)
        return list(json.loads(done.stdout))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def _environment(checkout: Path) -> dict[str, str]:
    one = dict.fromkeys(THREADS, "1")
    path = str(checkout.resolve() / "src")
    return dict(os.environ) | one | {"PYTHONPATH": path, "PYTHONHASHSEED": "0"}


def take_turns(old: Any, new: Any, repeats: int) -> Iterator[tuple[list[Any], list[Any]]]:
    """Yield what both sides found in each turn; who begins alternates."""
    for turn in range(repeats):
        if turn % 2:
            second, first = new.time(), old.time()
        else:
            first, second = old.time(), new.time()
        yield first, second


def measure(
    name: str, checkouts: list[Path], data: Path | None, repeats: int, pairs: int
) -> dict[str, Any]:
    """Return the ratio new / old of one piece of work, and what it is made of."""
    turns, of_pairs = [], []
    for _ in range(pairs):
        old, new = (_start(name, checkout, data) for checkout in checkouts)
        with old, new:
            latest = list(take_turns(old, new, repeats))
        of_pairs.append(median(b[0] / a[0] for a, b in latest))
        turns += latest
    ratios = [b[0] / a[0] for a, b in turns]
    low, middle, high = quantiles(ratios, n=4) if len(ratios) > 1 else 3 * ratios
    seconds = {"old": median(a[0] for a, _ in turns), "new": median(b[0] for _, b in turns)}
    result: dict[str, Any] = {
        "new / old": round(middle, 4),
        "quartiles": [round(low, 4), round(high, 4)],
        "of each pair": [round(ratio, 4) for ratio in of_pairs],
        "of the fastest": round(min(b[0] for _, b in turns) / min(a[0] for a, _ in turns), 4),
        "seconds": {side: round(value, 5) for side, value in seconds.items()},
        "same result": all(a[1] == b[1] for a, b in turns),
    }
    if new.unit:
        rates = {side: round(new.amount / value) for side, value in seconds.items()}
        result[f"{new.unit} per second"] = rates
    return result


def _start(name: str, checkout: Path, data: Path | None) -> Child | Import:
    return Import(checkout) if name == IMPORT else Child(checkout, name, data)


def main() -> None:
    """Measure everything, or what is named in --only."""
    known = ",".join([*WORK, IMPORT])
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkouts", metavar="OLD NEW", type=Path, nargs="*")
    parser.add_argument("--data", type=Path, default=os.environ.get("EVERMIX_DATA") or None)
    parser.add_argument("--repeats", type=int, default=10, help="turns of each pair of processes")
    parser.add_argument("--pairs", type=int, default=3, help="pairs of processes")
    parser.add_argument("--only", default=known, help=f"some of {known}")
    parser.add_argument("--serve", choices=WORK, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.data)
        return
    if len(options.checkouts) != 2:
        parser.error(f"two checkouts are wanted, OLD and NEW, got {len(options.checkouts)}.")
    names = options.only.split(",")
    if unknown := set(names) - set(known.split(",")):
        parser.error(f"{sorted(unknown)} not among {known}.")
    found = {}
    for name in names:
        settings = options.data, options.repeats, options.pairs
        found[name] = measure(name, options.checkouts, *settings)
        print(f"{name}: new / old = {found[name]['new / old']}", file=sys.stderr)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
