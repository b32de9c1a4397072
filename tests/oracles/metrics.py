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


def overlap_f1(x, predicted, overlap):
    """F1 of action segmentation: each predicted segment and the true one it overlaps most."""
    true_segments, predicted_segments = segments(x), segments(predicted)
    hit = [False] * len(true_segments)
    right = 0
    for label, c, d in predicted_segments:
        parts = []
        for true_label, a, b in true_segments:
            shared = max(0, min(b, d) - max(a, c) + 1)
            parts.append(shared / (max(b, d) - min(a, c) + 1) if label == true_label else 0.0)
        best = max(range(len(parts)), key=lambda i: parts[i])
        if parts[best] >= overlap and not hit[best]:
            hit[best] = True
            right += 1
    return 2 * right / (len(true_segments) + len(predicted_segments))


def edit(x, predicted):
    """1 - Levenshtein distance of the segments' labels / the larger number of them."""
    first, second = ([label for label, _, _ in segments(path)] for path in (x, predicted))
    table = {(i, 0): i for i in range(len(first) + 1)}
    table |= {(0, j): j for j in range(len(second) + 1)}
    for i in range(1, len(first) + 1):
        for j in range(1, len(second) + 1):
            table[i, j] = min(
                table[i - 1, j] + 1,
                table[i, j - 1] + 1,
                table[i - 1, j - 1] + (first[i - 1] != second[j - 1]),
            )
    return 1 - table[len(first), len(second)] / max(len(first), len(second))


def entities(tags):
    """(kind, first, last) of the entities of one sequence, by the rules of conlleval."""
    same = {"M": "I", "L": "E", "U": "S"}
    found, begun, before, kind_before = [], None, "O", None
    for t, tag in enumerate([*tags, "O"]):
        prefix, _, kind = tag.partition("-")
        prefix, kind = same.get(prefix, prefix), kind or None
        ends = (
            before in "ES"
            or (before in "BI" and prefix in "BSO")
            or (before != "O" and kind != kind_before)
        )
        starts = (
            prefix in "BS"
            or (before in "ESO" and prefix in "EI")
            or (prefix != "O" and kind != kind_before)
        )
        if ends and begun is not None:
            found.append((kind_before, begun, t - 1))
            begun = None
        if starts:
            begun = t
        before, kind_before = prefix, kind
    return found
