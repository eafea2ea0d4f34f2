"""Write the golden files of the current checkpoint format: python tests/golden/make_golden.py."""

from pathlib import Path

import numpy as np

import evermix as em
from evermix.io.checkpoint import FORMAT

HERE = Path(__file__).parent


def main() -> None:
    rng = np.random.default_rng(0)
    real = rng.normal(size=(60, 2)) + rng.choice([-6.0, 6.0], size=(60, 1))
    counts = rng.multinomial(20, rng.dirichlet(np.full(6, 0.3)), size=40)
    for name, X in (("gaussian", real), ("multinomial", counts)):
        mix = em.Mixture(random_state=0).partial_fit(X)
        stem = HERE / f"mixture-{name}-{FORMAT}"
        if stem.with_suffix(".evermix").exists():
            raise SystemExit(f"{stem}.evermix exists; golden files are never rewritten.")
        np.savez(stem, X=X, labels=mix.predict(X), scores=mix.score_samples(X))
        mix.save(stem.with_suffix(".evermix"))


if __name__ == "__main__":
    main()
