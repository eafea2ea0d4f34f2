"""Measures of known times that go on with new ones."""

from collections.abc import Mapping

import numpy as np

from evermix._xp import Floats
from evermix.priors.hyper import Gamma
from evermix.topics.measures.base import Measure

NEW_REGION = 1e-3  # how much of that of others the weight of a new region is at first


def open_times(measure: Measure, old: Mapping[str, Floats], new: Floats, last: float) -> None:
    """Give a measure the numbers of one of fewer times; new ones begin near the last of these.

    Parameters
    ----------
    measure : Measure
        One to start from, of all times.   # INOUT
    old : dict of arrays
        What :meth:`Measure.arrays` returned of the measure of fewer times.
    new : array (n,)
        Observations of the new times.
    last : float
        Those of the last known time. As much of u as it has for one observation is what new times
        begin with, so that observations open about as many atoms.
    """
    R, T = len(old["mass"]), len(old["u"])
    mass, q, u = measure.mass.copy(), measure.q.copy(), measure.u.copy()
    mass[:R], u[:T] = old["mass"], old["u"]
    if measure.laws.q is not None:
        weights = isinstance(measure.laws.q, Gamma)
        length = old["mass"] @ old["q"] if weights else np.ones(T)
        q[:R, :T], q[:R, T:] = old["q"], _ahead(old["q"], length)
        if weights:  # as those of a region of mean mass
            q[R:] = np.append(length, np.repeat(length[-1], len(new))) / old["mass"].sum()
        q[R:] *= NEW_REGION  # atoms that are known come first
    u[T:] = old["u"][-1] * new / last
    measure.assign({"sigma": old["sigma"], "mass": mass, "q": q, "u": u})


def _ahead(q: Floats, length: Floats) -> Floats:
    """Return numbers (R, 1) of regions for a time to begin with, from those of others (R, T).

    Half are those of the last time, and half the mean of all, so that atoms can come back. Of
    weights only the directions of columns mean something, since u makes up for their lengths (T,),
    and the new one has the length of the last. In these a region counts by its mass: one without
    atoms may have any weight.
    """
    parts = q / length
    ahead: Floats = length[-1] * (parts[:, -1:] + parts.mean(axis=1, keepdims=True)) / 2
    return ahead
