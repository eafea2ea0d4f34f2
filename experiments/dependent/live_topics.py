"""Live topics: years of abstracts that are learnt one after another, against fits of all of them.

NeurIPS abstracts of 2007 to 2019, or another corpus. A model is fitted to the years up to the first
one, and learns the others by ``partial_fit``. After each year the perplexity of the next one is
that of documents at a time which no model has seen: half of the words of each tell its topics, the
others are predicted. Refits have all years so far, from nothing. Times are those of the processor.
"""

import json
import lzma
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import typer
from sklearn.feature_extraction.text import CountVectorizer

import evermix as em
from experiments.common import find, show
from experiments.dependent.data import CORPORA, Corpus
from experiments.dependent.runs import MODELS, timed

__all__ = ["main"]

FIRST, LAST = 2007, 2019
MIN_DOCUMENTS = 5  # that have a word


def main(
    model: str = "HMNGG",
    corpus: str = "",
    first: int = 2009,
    last: int = LAST - 1,
    refits: str = "",
    burn_in: int = 300,
    draws: int = 100,
    chains: int = 1,
    refit_chains: int = 1,
    seed: int = 0,
) -> None:
    """Learn the years after ``first`` one by one; fit all years so far again after each.

    --refits 2011,2014 fits again after these years alone. --corpus icml2013_2017 has other
    documents than abstracts of NeurIPS. --chains are those of the first fit. Prints a table, and
    JSON.
    """
    data, prior = CORPORA[corpus]() if corpus else _abstracts(), MODELS[model]
    again = {int(year) for year in refits.split(",")} if refits else set(range(first, last + 1))

    def begun(chains: int) -> em.TopicModel:
        settings = {"burn_in": burn_in, "draws": draws, "chains": chains, "random_state": seed}
        return em.TopicModel(prior, **settings)

    def learn(topics: em.TopicModel, some: np.ndarray) -> float:
        times = data.years[some] if prior.timed else None
        return timed(lambda: topics.partial_fit(data.X[some], times=times))[1]

    live, found = begun(chains), []
    for year in range(first, last + 1):
        new = data.years <= year if year == first else data.years == year
        before = None if year == first else live.components_.shape[0]
        row: dict[str, Any] = {"year": year, "words": int(data.X[new].sum())}
        row |= {"seconds": learn(live, new)} | _judged(live, data, year)
        row["kept"] = before is None or bool(np.all(live.evolution_[:-1, before:] == 0))
        if year in again and year > first:
            whole = begun(refit_chains)
            row["refit_seconds"] = learn(whole, data.years <= year)
            row |= {f"refit_{name}": x for name, x in _judged(whole, data, year).items()}
        found.append(row)
        print(json.dumps(row), flush=True)
    show(f"{model}: perplexity of the next year", _COLUMNS, list(_lines(found)))


_COLUMNS = ["year", "live", "refit", "ratio", "topics", "refit", "s", "refit", "ratio"]


def _lines(found: list[dict[str, Any]]) -> Iterator[list[Any]]:
    for row in found:
        pairs = [(row[name], row.get(f"refit_{name}")) for name in ("perplexity", "seconds")]
        (live, whole), (quick, slow) = pairs
        yield [
            row["year"],
            f"{live:.0f}",
            None if whole is None else f"{whole:.0f}",
            None if whole is None else f"{live / whole:.3f}",
            row["topics"],
            row.get("refit_topics"),
            f"{quick:.2f}",
            None if slow is None else f"{slow:.1f}",
            None if slow is None else f"{slow / quick:.0f}",
        ]


def _judged(topics: em.TopicModel, corpus: Corpus, year: int) -> dict[str, Any]:
    """Return the perplexity of the next year, and the number of topics."""
    ahead = corpus.years == year + 1
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "there were no rows at the time")
        perplexity = topics.perplexity(corpus.X[ahead], corpus.years[ahead])
    return {"perplexity": perplexity, "topics": topics.n_topics_}


def _abstracts() -> Corpus:
    """Return titles and abstracts as counts; the vocabulary is that of all years."""
    file = find("neurips_abstracts/neurips_abstracts.jsonl.xz")
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        papers = [json.loads(line) for line in lines]
    papers = [p for p in papers if FIRST <= p["year"] <= LAST and p["abstract"].strip()]
    counter = CountVectorizer(
        stop_words="english", min_df=MIN_DOCUMENTS, token_pattern=r"[a-zA-Z]{3,}"
    )
    X = counter.fit_transform([f"{p['title']} {p['abstract']}" for p in papers])
    years = np.array([p["year"] for p in papers])
    return Corpus(X.tocsr(), years, counter.get_feature_names_out())


if __name__ == "__main__":
    typer.run(main)
