"""Warnings point to the line of the program that uses the library."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

import evermix as em


@pytest.mark.parametrize("wrapped", [False, True])
def test_ignored_columns_are_named_where_fit_is_called(wrapped):
    rng = np.random.default_rng(0)
    who = [f"person {i} of the town" for i in range(60)]
    table = pd.DataFrame({"who": who, "age": rng.normal(size=60), "pay": rng.normal(size=60)})
    mix = em.Mixture(random_state=0)
    with pytest.warns(UserWarning, match="'who'") as found:
        (make_pipeline(mix) if wrapped else mix).fit(table)
    assert {warning.filename for warning in found} == {__file__}
    with pytest.warns(UserWarning, match="'more' of the table") as found:
        mix.predict(table[["age", "pay"]].assign(more=1.0))
    assert {warning.filename for warning in found} == {__file__}
