"""The metrics, written down as they are defined, one sequence at a time, for lists of labels."""


def accuracy(x, predicted):
    return sum(p == t for t, p in zip(x, predicted)) / len(x)


def macro_f1(x, predicted):
    scores = []
    for label in set(x) | set(predicted):
        hits = sum(t == label and p == label for t, p in zip(x, predicted))
        n_predicted = sum(p == label for p in predicted)
        n_true = sum(t == label for t in x)
        precision = hits / n_predicted if n_predicted else 0.0
        recall = hits / n_true if n_true else 0.0
        total = precision + recall
        scores.append(2 * precision * recall / total if total else 0.0)
    return sum(scores) / len(scores)


def segments(x):
    """All (label, a, b) with x_a = ... = x_b = label that cannot be made longer."""
    return [
        (x[a], a, b)
        for a in range(len(x))
        for b in range(a, len(x))
        if all(x[t] == x[a] for t in range(a, b + 1))
        and (a == 0 or x[a - 1] != x[a])
        and (b == len(x) - 1 or x[b + 1] != x[a])
    ]


def segment_f1(x, predicted, tolerance):
    """`tolerance` in steps, not necessarily whole."""
    true_segments, predicted_segments = segments(x), segments(predicted)
    pairs = sorted(
        (abs(a - c) + abs(b - d), i, j)
        for i, (true_label, a, b) in enumerate(true_segments)
        for j, (label, c, d) in enumerate(predicted_segments)
        if true_label == label and abs(a - c) <= tolerance and abs(b - d) <= tolerance
    )
    matched_true, matched_predicted = set(), set()
    for _, i, j in pairs:
        if i not in matched_true and j not in matched_predicted:
            matched_true.add(i)
            matched_predicted.add(j)
    hits = len(matched_true)
    missed = len(true_segments) - hits
    spurious = len(predicted_segments) - hits
    return 2 * hits / (2 * hits + spurious + missed)
