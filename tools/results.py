"""Save the results of small fits, and compare those of two checkouts bit for bit.

    PYTHONPATH=OLD/src python tools/results.py save old.npz
    PYTHONPATH=NEW/src python tools/results.py save new.npz
    python tools/results.py compare old.npz new.npz [--tolerance 1e-12]

There is one fit for every engine and family, and more for streams, forgetting, files, merging,
priors, options, dependent mixtures and topic models (``result_cases*.py``). They take about two
minutes, and much longer the first time, when everything is compiled. ``compare`` lists every array
that differs and exits with 1 if there is one; with ``--tolerance``, one that differs by more.
A combination that a checkout refuses is recorded by the type of its error.
"""

import argparse
import fnmatch
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def save(out: Path, only: str) -> None:
    """Run all cases whose name matches a pattern, on one thread of the BLAS, and write them."""
    import result_cases
    import result_cases_over_time
    from threadpoolctl import threadpool_limits

    import evermix

    print(f"evermix of {Path(evermix.__file__).parent}", file=sys.stderr)
    cases = result_cases.cases() | result_cases_over_time.cases()
    chosen = {name: case for name, case in cases.items() if fnmatch.fnmatch(name, only)}
    found: Arrays = {}
    with threadpool_limits(1):
        for name, case in chosen.items():
            began = time.perf_counter()
            for key, value in result_cases.run(case):
                if key == "refused":
                    print(f"{name} is refused: {value}", file=sys.stderr)
                    value = str(value).partition(":")[0]
                found[f"{name}/{key}"] = _array(f"{name}/{key}", value)
            print(f"{time.perf_counter() - began:7.2f} s  {name}", file=sys.stderr)
    np.savez_compressed(out, **found)  # type: ignore[arg-type]
    print(f"{len(found)} arrays of {len(chosen)} cases in {out}", file=sys.stderr)


def _array(name: str, value: Any) -> NDArray[Any]:
    array = np.asarray(value)
    if array.dtype == object:
        raise TypeError(f"{name} must be an array of numbers or strings, got {value!r}.")
    return array


def compare(files: list[Path], tolerance: float | None) -> int:
    """Print what differs; return 1 if anything does, or does by more than the tolerance, else 0."""
    old, new = map(_read, files)
    lines, equal, wrong = [], 0, 0
    for name in sorted(old.keys() | new.keys()):
        if name not in old or name not in new:
            lines.append(f"{name}: only in {files[name not in old]}")
            wrong += 1
            continue
        distance, words = difference(old[name], new[name])
        equal += not words
        wrong += bool(words) and (tolerance is None or distance > tolerance)
        if words:
            lines.append(f"{name}: {words}")
    print("\n".join(lines + [f"{equal} of {len(old.keys() | new.keys())} arrays are bit-equal."]))
    if lines:
        beyond = "" if tolerance is None else f", {wrong} of them by more than {tolerance:g}"
        print(f"{len(lines)} differ{beyond}.")
    return int(wrong > 0)


def _read(path: Path) -> Arrays:
    with np.load(path, allow_pickle=False) as file:
        return dict(file)


def difference(a: NDArray[Any], b: NDArray[Any]) -> tuple[float, str]:
    """Return the largest relative difference of two arrays, and how they differ in words.

    There are no words if they are equal bit for bit. The difference is inf where shapes or types
    differ, where one value is not finite, and for whole numbers and strings.
    """
    if (a.dtype.kind, a.shape) != (b.dtype.kind, b.shape):
        return np.inf, f"{a.dtype} {a.shape} has become {b.dtype} {b.shape}"
    if a.dtype == b.dtype and a.tobytes() == b.tobytes():
        return 0.0, ""
    if a.dtype.kind != "f":
        changed = np.count_nonzero(a != b)
        return np.inf if changed else 0.0, f"{changed} of {a.size} entries ({a.dtype}, {b.dtype})"
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    x, y = a[~same].astype(np.float64), b[~same].astype(np.float64)
    if not np.all(np.isfinite(x) & np.isfinite(y)):
        return np.inf, f"{len(x)} of {a.size} entries, some of them not finite"
    apart = np.abs(x - y)
    relative = float(np.max(apart / np.maximum(np.abs(x), np.abs(y)), initial=0.0))
    return relative, (
        f"{len(x)} of {a.size} entries, by at most {relative:.2g} relatively and "
        f"{np.max(apart, initial=0.0):.2g} absolutely"
    )


def main() -> None:
    """Save or compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    saving = commands.add_parser("save", help="run all cases with the evermix that is imported")
    saving.add_argument("out", type=Path)
    saving.add_argument("--only", default="*", help="pattern of the names of cases: 'fit/ADF/*'")
    comparing = commands.add_parser("compare", help="compare two files")
    comparing.add_argument("files", type=Path, nargs=2)
    comparing.add_argument("--tolerance", type=float, help="relative; none by default")
    options = parser.parse_args()
    if options.command == "save":
        save(options.out, options.only)
    else:
        sys.exit(compare(options.files, options.tolerance))


if __name__ == "__main__":
    main()
