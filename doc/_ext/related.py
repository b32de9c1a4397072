"""See Also of methods: one table for all classes, since methods of one name do the same."""

RELATED = {
    # estimators
    "fit": "predict score",
    "predict": "decode predict_proba kbest",
    "decode": "predict kbest decode_path",
    "decode_path": "decode sample_paths",
    "predict_proba": "predict predict_log_proba filter_proba",
    "predict_log_proba": "predict_proba",
    "filter_proba": "predict_proba stream",
    "log_feasibility": "log_likelihood constraint_costs explain",
    "log_likelihood": "score log_feasibility",
    "score": "log_likelihood predict bic",
    "fit_chunks": "fit e_step m_step",
    "partial_fit": "fit fit_chunks",
    "e_step": "m_step fit_chunks",
    "m_step": "e_step fit_chunks",
    "merge": "",  # its docstring names methods of another class
    "score_samples": "score predict_proba",
    "aic": "bic icl score",
    "bic": "aic icl score",
    "icl": "bic aic score",
    "confidence_intervals": "fit bic",
    "pseudo_residuals": "confidence_intervals predict_proba",
    "kbest": "decode sample_posterior",
    "sample": "sample_posterior from_parameters",
    "sample_posterior": "kbest predict_proba sample_paths",
    "sample_paths": "decode_path sample_posterior",
    "probability": "visit_distribution expected_duration",
    "visit_distribution": "expected_duration probability",
    "expected_duration": "visit_distribution probability",
    "sojourn_times": "expected_time_to expected_duration",
    "hazard": "expected_time_to predict_proba",
    "expected_time_to": "sojourn_times hazard",
    "explain": "constraint_costs log_feasibility",
    "constraint_costs": "explain log_feasibility",
    "with_constraints": "constraint_costs from_parameters",
    "from_parameters": "fit with_constraints sample",
    "stream": "filter_proba predict",
    "get_stationary_distribution": "sample",
    # ConstraintMiner, HashingQuantizer, ConstrainedStream
    "transform": "fit",
    "push": "path finish",
    "finish": "push path",
    # Controller, Constraint
    "accepts": "shortest_path equivalent align",
    "align": "accepts shortest_path",
    "count_paths": "language_size shortest_path",
    "shortest_path": "count_paths is_empty",
    "is_empty": "language_size shortest_path",
    "equivalent": "minimal is_empty",
    "minimal": "equivalent",
    "explore": "from_functions",
    "from_functions": "explore minimal",
    "to_dot": "plot",
    "plot": "to_dot from_estimator",
    "controller": "labels to_spec",
    "labels": "controller",
    "to_spec": "controller labels",
    # pictures
    "from_estimator": "plot from_predictions",
    "from_predictions": "from_estimator plot",
    "from_kbest": "from_samples plot",
    "from_samples": "from_kbest plot",
    "mistakes": "plot",
    "lengths_of": "plot",
    "arrows": "plot",
    "counts": "plot",
    "survival": "plot",
    "expected_shares": "observed_shares plot",
    "observed_shares": "expected_shares plot",
}


def add_see_also(app, what, name, obj, options, lines):
    """Append the methods of the same class that are related, unless the docstring names some."""
    *home, method = name.split(".")
    if what != "method" or method not in RELATED or "See Also" in lines:
        return
    owner = __import__("skchmm")
    for part in home[1:]:
        owner = getattr(owner, part)
    others = [other for other in RELATED[method].split() if hasattr(owner, other)]
    if others:
        at = next((k for k, line in enumerate(lines) if line == "Examples"), len(lines))
        links = [f"{owner.__name__}.{other}" for other in others]
        lines[at:at] = ["", "See Also", "--------", ", ".join(links), ""]


def setup(app):
    app.connect("autodoc-process-docstring", add_see_also, priority=100)  # before numpydoc
    return {"parallel_read_safe": True}
