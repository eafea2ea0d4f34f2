"""Write the golden file of the current checkpoint format: python tests/golden/make_golden.py.

A file that exists is never rewritten.
"""

from pathlib import Path

import numpy as np

import evermix as em
from evermix.io.checkpoint import FORMAT

STEM = Path(__file__).parent / f"mixture-{FORMAT}"


def main() -> None:
    """Save a model of an engine that remembers its rows, and what it predicts."""
    if STEM.with_suffix(".evermix").exists():
        return
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) + rng.choice([-6.0, 6.0], size=(60, 1))
    mix = em.Mixture(engine=em.EP(laps=4), random_state=0).fit(X)
    np.savez(STEM, X=X, labels=mix.predict(X), scores=mix.score_samples(X))
    mix.save(STEM.with_suffix(".evermix"))


if __name__ == "__main__":
    main()
