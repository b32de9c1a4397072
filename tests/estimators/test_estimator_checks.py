"""scikit-learn's own checks, on every estimator of the package."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from skchmm import ConstrainedHMM

# A step's answer depends on the steps around it; that is the point of a sequence model.
EXPECTED_FAILURES = {
    "check_methods_sample_order_invariance": "steps of a sequence are not exchangeable",
    "check_methods_subset_invariance": "a part of a sequence is another sequence",
}


@parametrize_with_checks(
    [ConstrainedHMM()],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_estimator_checks(estimator, check):
    check(estimator)
