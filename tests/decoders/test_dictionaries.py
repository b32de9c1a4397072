"""Features of dictionaries are those of scikit-learn's DictVectorizer."""

import numpy as np
import pytest
from sklearn.feature_extraction import DictVectorizer

from skchmm.decoders._features import DictFeatures

SIMPLE = [{"w": "a", "n": 2}, {"w": "b", "x": 0.5, "up": True}, {}, {"w": "a", "n": -1.5}]
OTHER = [{"w": ["a", "b"], "n": np.float32(2)}, {"w": "b", "n": 1}]
CLASH = [{"a": "b=c"}, {"a=b": "c"}, {"a=b=c": 3.0}]


@pytest.mark.parametrize("rows", [SIMPLE, OTHER, CLASH, 40 * SIMPLE])
@pytest.mark.parametrize("asked", [SIMPLE, OTHER, CLASH, [{"new": "a", "w": "c"}]])
def test_against_dict_vectorizer(rows, asked):
    expected = DictVectorizer().fit(rows)
    features = DictFeatures()
    found = features.fit_transform(rows)
    assert features.names == expected.feature_names_
    np.testing.assert_array_equal(found.toarray(), expected.transform(rows).toarray())
    again = features.transform(asked)
    np.testing.assert_array_equal(again.toarray(), expected.transform(asked).toarray())


@pytest.mark.parametrize("rows", [[{"a": np.nan}], [{"a": [np.inf], "b": np.inf}], [{"a": "b"}, 3]])
def test_refused(rows):
    with pytest.raises(ValueError, match=r"NaN or infinite|dictionary of features"):
        DictFeatures().fit_transform(rows)
    features = DictFeatures()
    features.fit_transform(SIMPLE)
    with pytest.raises(ValueError, match=r"NaN or infinite|dictionary of features"):
        features.transform(rows)
