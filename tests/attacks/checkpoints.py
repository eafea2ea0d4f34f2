"""Mutated checkpoints: none is loaded with changed bytes, and none does harm.

``python -m tests.attacks.checkpoints --count 5000 --seed 0`` mutates files of every kind of model.

- *Damage*: bits, bytes and blocks change. Every such file must be refused.
- *Forgery*: arrays and entries of the header change, and the digest is computed anew. Such a file
  may be refused, or loaded if it still describes a model; then its answers are numbers.

No load may raise anything but CheckpointError, take two seconds, or more memory than a small
multiple of the file. Models that are loaded may refuse to answer with ValueError or AttributeError.
"""

import argparse
import collections
import copy
import faulthandler
import json
import random
import sys
import tempfile
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np

import evermix as em
from evermix.io import checkpoint

try:
    from attacks.models import answers, save_all
except ImportError:  # as a module of the repository
    from tests.attacks.models import answers, save_all

SECONDS = 2.0
BASE, MULTIPLE = 40e6, 10  # bytes of memory: those of the first buffers, and for each of the file
NUMBERS = (0, 1, -1, 2, -7, 2**31, 2**62, 2**63 - 1, 10**12)
FLOATS = (0.0, -1.0, 1e-300, 1e12, 1e155, 1e308, -1e308, np.inf, -np.inf, np.nan)
DEEP = json.loads("[" * 40 + "]" * 40)
LEAVES = (
    None,
    True,
    -1,
    0,
    3,
    10**9,
    10**12,
    2**63,
    1e308,
    float("nan"),
    "",
    "x",
    [],
    {},
    [1],
    DEEP,
)
DTYPES = ("f8", "f4", "f2", "i8", "i4", "u8", "u1", "b1")


# ---- damage --------------------------------------------------------------------------------


def damaged(content, rng):
    """Return other bytes."""
    content, place = bytearray(content), rng.randrange(len(content))
    match rng.randrange(7):
        case 0:
            content[place] ^= 1 << rng.randrange(8)
        case 1:
            content[place] = (content[place] + rng.randrange(1, 256)) % 256
        case 2:
            del content[place:]
        case 3:
            del content[place : place + rng.choice((1, 8, 64))]
        case 4:
            content[place:place] = rng.randbytes(rng.choice((1, 8, 64)))
        case 5:
            for _ in range(8):
                content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        case 6:
            length = rng.choice((8, 64, 512))
            content[place : place + length] = rng.randbytes(len(content[place : place + length]))
    return bytes(content)


# ---- forgery -------------------------------------------------------------------------------


def forged(arrays, header, rng):
    """Return other arrays and another header."""
    arrays, header = dict(arrays), copy.deepcopy(header)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if rng.random() < 0.6 and arrays:
            _forge_array(arrays, rng)
        else:
            _forge_header(header, rng)
    return arrays, header


def _forge_array(arrays, rng):
    name = rng.choice(sorted(arrays))
    values = np.array(arrays[name])
    action = rng.randrange(8)
    if action <= 3 and values.size:
        pool = FLOATS if values.dtype.kind == "f" else NUMBERS
        with np.errstate(all="ignore"):
            value = np.array(rng.choice(pool)).astype(values.dtype)
        if action == 0:
            values[...] = value
        elif action == 1 and values.size > 1:
            values = values.ravel()[rng.sample(range(values.size), values.size)].reshape(
                values.shape
            )
        else:
            values.flat[rng.randrange(values.size)] = value
        arrays[name] = values
    elif action == 4:
        with np.errstate(all="ignore"):
            arrays[name] = values.astype(rng.choice(DTYPES))
    elif action == 5:
        shapes = [
            values[..., None],
            values.ravel(),
            values[:0],
            values[1:] if values.ndim else values,
        ]
        arrays[name] = rng.choice(shapes)
    elif action == 6:
        del arrays[name]
    else:
        arrays[rng.choice((name + "x", "x", "state.memo.7.x", rng.choice(sorted(arrays))))] = values


def _forge_header(header, rng):
    part, key = header, rng.choice(sorted(header))
    while isinstance(part[key], dict | list) and part[key] and rng.random() < 0.9:
        part = part[key]
        key = rng.choice(sorted(part) if isinstance(part, dict) else range(len(part)))
    if rng.random() < 0.15 and isinstance(part, dict):
        del part[key]
    elif isinstance(part[key], float) and rng.random() < 0.5:
        part[key] = rng.choice(FLOATS)
    else:
        part[key] = copy.deepcopy(rng.choice(LEAVES))


# ---- what must not happen ------------------------------------------------------------------


def attack(path, size, changed):
    """Load a file and return (what happened, whether it may)."""
    tracemalloc.start()
    began = time.perf_counter()
    model, failure = None, None
    try:
        model = em.load(path)
    except em.CheckpointError:
        pass
    except Exception as error:
        failure = f"{type(error).__name__} in load: {error}"
    seconds, peak = time.perf_counter() - began, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    if failure is None and seconds > SECONDS:
        failure = f"{seconds:.1f} s"
    if failure is None and peak > BASE + MULTIPLE * size:
        failure = f"{peak / 1e6:.0f} MB"
    if failure is None and changed and model is not None:
        failure = "loaded with changed bytes"
    if failure or model is None:
        return failure or "refused", failure is None
    return _answered(model)


def _answered(model):
    began = time.perf_counter()
    try:
        numbers = answers(model)
    except (ValueError, AttributeError):
        return "loaded, and refused to answer", True
    except Exception as error:
        return f"{type(error).__name__} in an answer: {error}", False
    if time.perf_counter() - began > 5 * SECONDS:
        return f"an answer took {time.perf_counter() - began:.1f} s", False
    missing = any(np.isnan(values).any() for values in numbers)
    return ("loaded, with NaN answers", False) if missing else ("loaded", True)


def run(count, seed, names=None, damage=0.5):
    """Attack files, and return how often each thing happened, and descriptions of failures."""
    outcomes, failures = collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(folder)
        paths = save_all(folder, names)
        whole = {name: (path.read_bytes(), checkpoint.read(path)) for name, path in paths.items()}
        for path in paths.values():
            answers(em.load(path))  # compiles what the answers need
        target = folder / "mutated.evermix"
        for number in range(count):
            name = sorted(whole)[number % len(whole)]
            content, parts = whole[name]
            rng = random.Random(f"{seed} {number}")
            changed = rng.random() < damage
            if changed:
                target.write_bytes(mutated := damaged(content, rng))
                changed = mutated != content
            else:
                checkpoint.write(target, *forged(*parts, rng))
            faulthandler.dump_traceback_later(60, exit=True)
            what, allowed = attack(target, target.stat().st_size, changed)
            faulthandler.cancel_dump_traceback_later()
            outcomes[what if allowed else "FAILURE"] += 1
            if not allowed:
                failures.append(f"{name}, number {number} of seed {seed}: {what}")
    return outcomes, failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", help="names of models")
    given = parser.parse_args()
    faulthandler.enable()
    outcomes, failures = run(given.count, given.seed, given.only)
    for what, n in outcomes.most_common():
        print(f"{n:6d}  {what}")
    print("\n".join(failures[:50]))
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
