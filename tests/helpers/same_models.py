"""When two mixtures are the same, to the last bit."""

import numpy as np


def assert_same(one, other):
    ours, theirs = one.state_.to_arrays(), other.state_.to_arrays()
    assert ours[0].keys() == theirs[0].keys() and ours[1] == theirs[1]
    for name, values in ours[0].items():
        assert values.tobytes() == theirs[0][name].tobytes(), name
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(one.probabilities_, other.probabilities_)
