"""The averaged perceptron for sequences, transcribed from its definition with dictionaries."""

from collections import Counter
from itertools import product


def path_features(steps, path):
    """The features of a path with their values; `steps` holds a dictionary a step."""
    found = Counter({("start", path[0]): 1.0})
    for t, step in enumerate(steps):
        for name, value in step.items():
            found["feature", name, path[t]] += value
        if t:
            found["transition", path[t - 1], path[t]] += 1.0
    return found


def path_score(weights, steps, path):
    return sum(weights[key] * value for key, value in path_features(steps, path).items())


def best_path(weights, steps, n_states):
    """Of equally good paths that with the lowest states, compared from the last step on."""
    return max(
        product(range(n_states), repeat=len(steps)),
        key=lambda path: (round(path_score(weights, steps, path), 9), [-i for i in path[::-1]]),
    )


def train(sequences, orders, n_states):
    """Mean of the weights after each sequence of each pass.

    Parameters
    ----------
    sequences : list of (steps, path)
    orders : list of lists
        The order of the sequences in each pass.
    """
    weights, total, n, wrong = Counter(), Counter(), 0, []
    for order in orders:
        wrong.append(0)
        for s in order:
            steps, truth = sequences[s]
            path = best_path(weights, steps, n_states)
            wrong[-1] += sum(a != b for a, b in zip(path, truth))
            for key, value in path_features(steps, truth).items():
                weights[key] += value
            for key, value in path_features(steps, path).items():
                weights[key] -= value
            n += 1
            for key, value in weights.items():
                total[key] += value
    return Counter({key: value / n for key, value in total.items()}), wrong
