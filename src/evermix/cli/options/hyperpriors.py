"""What ``--learn`` says: hyperparameters by name, and what is believed of them beforehand."""

from collections.abc import Iterable, Mapping

from evermix.priors import Beta, Gamma
from evermix.priors.base import UNIT
from evermix.priors.hyper import HyperPrior

_LAWS: dict[str, type[Gamma] | type[Beta]] = {"gamma": Gamma, "beta": Beta}
FAMILY = "family."


def parse_hyperpriors(
    words: Iterable[str],
    domains: Mapping[str, tuple[float, float]],
    names: Mapping[str, str],
) -> dict[str, HyperPrior]:
    """Return the hyperpriors by the name of what they are about.

    Parameters
    ----------
    words : iterable of str
        Each ``NAME``, ``NAME=gamma:SHAPE,RATE`` or ``NAME=beta:A,B``; a name alone means
        ``gamma:1,1``, or ``beta:1,1`` for what lies between 0 and 1.
    domains : mapping of str to (float, float)
        The hyperparameters of the prior that can be learnt, and where they live.
    names : mapping of str to str
        What options of the command line are called by engines. Names that begin with "family." are
        taken as they are.
    """
    laws: dict[str, HyperPrior] = {}
    for word in words:
        option, named, law = word.partition("=")
        if option not in names and not option.startswith(FAMILY):
            raise ValueError(
                f"--learn takes {', '.join(names)} or {FAMILY}NAME here, got {option!r}."
            )
        name = names.get(option, option)
        if name in laws:
            raise ValueError(f"--learn {option} was given twice; say it once.")
        laws[name] = _law(word, law) if named else _usual(domains.get(name))
    return laws


def _usual(domain: tuple[float, float] | None) -> HyperPrior:
    return Beta() if domain == UNIT else Gamma()


def _law(word: str, law: str) -> HyperPrior:
    kind, _, numbers = law.partition(":")
    try:
        first, second = (float(number) for number in numbers.split(","))
        return _LAWS[kind](first, second)
    except (KeyError, ValueError) as error:
        raise ValueError(
            f"--learn wants a law of two positive numbers, such as {word.split('=')[0]}=gamma:1,1 "
            f"or beta:1,1, got {word!r}."
        ) from error
