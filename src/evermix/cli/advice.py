"""What the library advises, in words of the command line: options in place of Python."""

import re
from collections.abc import Collection, Sequence
from functools import cache

_PHRASES = {  # of the library's messages; the longer ones first
    **{
        f"dates: {are} ignored. Make numbers of such columns, or give them a block in em.Mixed, if "
        "they tell of clusters.": f"dates: {are} ignored. --ignore COLUMN leaves one out without "
        "this warning."
        for are in ("it is", "they are")
    },
    ("Make numbers of such columns, or give them a block in em.Mixed, if they tell of clusters."): (
        "--id-field COLUMN says that a column names the rows, and --ignore COLUMN leaves one out "
        "without this warning."
    ),
    "Give such a column a block in em.Mixed (em.Categorical) if it tells of clusters.": (
        "--category COLUMN keeps one, --id-field COLUMN says that it names the rows, and --ignore "
        "COLUMN leaves it out without this warning."
    ),
    "To cluster rows by such texts, count their words (CountVectorizer).": (
        "--text-field COLUMN clusters rows by the words of one, and --ignore COLUMN leaves it out "
        "without this warning."
    ),
    "common, or a block for these in em.Mixed.": (
        "common, or say with --category COLUMN that one holds categories."
    ),
    "Give such a column a block in em.Mixed if it tells more than the other.": (
        "--ignore COLUMN leaves one out without this warning."
    ),
    "Give such a column a block in em.Mixed if later rows have values.": (
        "--ignore COLUMN leaves one out without this warning."
    ),
    "Drop the column if it names rows, as first names and codes do.": (
        "--ignore COLUMN leaves it out, if it names rows as first names and codes do."
    ),
    "Leave them out, or give them a block in em.Mixed and fit.": (
        "Leave them out with --ignore COLUMN, or fit a model with them."
    ),
    "a dict of columns needs the family em.Mixed or 'auto'": (
        "a table needs --family mixed or --family auto"
    ),
    "Replace such a value by None if it is missing, correct it,": (
        "Say with --missing VALUE what stands for a missing value, correct it,"
    ),
    "(em.Mixed with em.Categorical)": "(--category COLUMN)",
    "the ids are in cluster_ids_": "`evermix info MODEL` lists the ids",
    "give some, split_cluster(id, X).": "give some with --rows SOURCE.",
    "Raise max_clusters, or lower the prior's concentration.": "Raise --max-clusters.",
    "Raise max_clusters, or raise the penalty.": "Raise --max-clusters or --penalty.",
    "stop_words=None keeps them": "--stop-words none keeps them",
    "em.Mixture() without an engine": "no --engine",
    "em.Mixture()": "no --engine",
    "forgetting=em.Exponential(half_life=...)": "--half-life",
    "em.Exponential(half_life=timedelta(days=7))": "--half-life 7d",
    "forgetting=None": "no --half-life",
    "fit(X, times=years)": "--time-field year",
    "times=years": "--time-field year",
}
_CLASS = re.compile(r"(?:\b(?:family|prior|engine|sampler)=)?\bem\.(\w+)(?:\([^()]*\))?")
_CALLED = r"\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)"  # brackets within brackets
# A program, which stays as it is: a method of what em.Name(...) makes, or em.Name in a call.
_PROGRAM = re.compile(
    rf"(\bem\.\w+{_CALLED}(?:\.\w+(?:{_CALLED})?)+|\b(?:\w+\.)*\w+(?=\([^()]*\bem\.){_CALLED})"
)
_TEXTS = re.compile(  # the program that counts the words of a column
    r"count their words: em\.Mixture\(\)\.fit\(CountVectorizer\(\)\.fit_transform\("
    r"table\[('.*?'|\".*?\")\]\)\), with sklearn\.feature_extraction\.text\.CountVectorizer\."
)
_NUMBER = re.compile(r"--?(?:(?:n|num)[-_])?(?:clusters|topics|components)|--?[kK]")


def number_given(arguments: Sequence[str], options: Collection[str]) -> str | None:
    """Return what to do in place of an option that gives the number of clusters; None if none does.

    ``options`` are those that the command has.
    """
    for i, argument in enumerate(arguments):
        name, _, value = argument.partition("=")
        if name in options or not _NUMBER.fullmatch(name):
            continue
        following = value or next(iter(arguments[i + 1 :]), "")
        n = following if following.isdecimal() else "N"
        noun = "topics" if "--period" in options else "clusters"
        most = f"; with --max-clusters {n} there are never more"
        return (
            f"There is no option {name}: the number of {noun} is learnt from the rows. Leave it "
            f"out. Then `evermix info MODEL --coarse {n}` joins the {noun} that were found into "
            f"{n}{most if '--max-clusters' in options else ''}."
        )
    return None


def in_options(message: str) -> str:
    """Return a message of the library as users of the command line should read it.

    Python that does more than name a component stays Python.
    """
    pieces = _PROGRAM.split(_TEXTS.sub(r"--text-field \1 clusters rows by them.", message))
    pieces[::2] = map(_translated, pieces[::2])
    return "".join(pieces)


def _translated(words: str) -> str:
    for phrase, option in _PHRASES.items():
        words = words.replace(phrase, option)
    if "em." not in words:
        return words
    return _CLASS.sub(lambda found: _options().get(found[1], found[0]), words)


@cache
def _options() -> dict[str, str]:
    """Return the options that choose engines, families, priors and samplers, by their classes."""
    from evermix.cli.options.components import command_name
    from evermix.engines import ENGINES
    from evermix.families import FAMILIES
    from evermix.priors import PRIORS
    from evermix.topics.hierarchies import TOPIC_PRIORS
    from evermix.topics.words.samplers import WORD_SAMPLERS

    found = {name: f"--engine {name.lower()}" for name in ENGINES}
    found |= {name: f"--prior {name.lower()}" for name in TOPIC_PRIORS}
    found |= {name: f"--sampler {name.lower()}" for name in WORD_SAMPLERS}
    found |= {name: f"--family {command_name(cls)}" for name, cls in FAMILIES.items()}
    return found | {name: f"--prior {command_name(cls)}" for name, cls in PRIORS.items()}
