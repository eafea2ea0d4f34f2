"""Write the golden files of the current checkpoint format: python tests/golden/make_golden.py.

Files that are there are never rewritten.
"""

from pathlib import Path

import numpy as np

import evermix as em
from evermix.io.checkpoint import FORMAT

HERE = Path(__file__).parent


def main() -> None:
    rng = np.random.default_rng(0)
    real = rng.normal(size=(60, 2)) + rng.choice([-6.0, 6.0], size=(60, 1))
    counts = rng.multinomial(20, rng.dirichlet(np.full(6, 0.3)), size=40)
    learnt = {"a": em.Gamma(1.0, 1.0), "family.alpha": em.Gamma(1.0, 5.0)}
    engines = {
        "gaussian": (real, None),
        "multinomial": (counts, None),
        "ep": (real, em.EP(laps=4)),
        "gibbs": (counts, em.Gibbs(sweeps=8, chains=2, augmented=True, hyperpriors=learnt)),
        "memoized": (real, em.MemoizedVB(laps=3, batch_size=25)),
        "stochastic": (counts, em.StochasticVB(laps=3, batch_size=15, truncation=3)),
        "rcrp": (real, em.RCRP()),
        "sugs": (counts, em.SUGS()),
        "dpmeans": (real, em.DPMeans(penalty=20.0, laps=3)),
    }
    for name, (X, engine) in engines.items():
        stem = HERE / f"mixture-{name}-{FORMAT}"
        if stem.with_suffix(".evermix").exists():
            continue
        plan = em.Exponential(half_life=20.0) if name in ("gaussian", "sugs") else None
        mix = em.Mixture(engine=engine, forgetting=plan, random_state=0)
        mix = mix.partial_fit(X) if engine is None else mix.fit(X)
        np.savez(stem, X=X, labels=mix.predict(X), scores=mix.score_samples(X))
        mix.save(stem.with_suffix(".evermix"))


if __name__ == "__main__":
    main()
