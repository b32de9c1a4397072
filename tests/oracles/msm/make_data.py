"""Writes illness_death.csv: a hidden illness-death process, seen with noise at irregular visits."""

from pathlib import Path

import numpy as np

GENERATOR = np.array([[-0.35, 0.25, 0.10], [0.15, -0.45, 0.30], [0.0, 0.0, 0.0]])


def draw(rng):
    rows = []
    for subject in range(1, 81):
        times = np.concatenate([[0.0], np.cumsum(rng.uniform(0.3, 1.7, size=7))]).round(2)
        state, now, path = 0, 0.0, []
        jump = rng.exponential(1 / 0.35)
        for time in times:
            while state < 2 and now + jump <= time:
                now += jump
                rates = np.where(np.arange(3) == state, 0.0, GENERATOR[state])
                state = int(rng.choice(3, p=rates / rates.sum()))
                jump = rng.exponential(1 / -GENERATOR[state, state]) if state < 2 else np.inf
            path.append(state)
        marker = np.array([0.0, 2.0, 5.0])[path] + rng.normal(0, [[1.0, 0.8, 0.5][s] for s in path])
        rows += [f"{subject},{t},{m:.3f}" for t, m in zip(times, marker)]
    return rows


if __name__ == "__main__":
    lines = ["subject,time,marker", *draw(np.random.default_rng(20))]
    Path(__file__).with_name("illness_death.csv").write_text("\n".join(lines) + "\n")
