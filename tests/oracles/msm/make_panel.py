"""Writes panel.csv: visits at which the state is seen, exact times of death, and lost follow-up.

State 99: alive at that time, and nothing else is known.
"""

from pathlib import Path

import numpy as np

RATES = np.array(
    [[0.0, 0.25, 0.0, 0.06], [0.15, 0.0, 0.3, 0.1], [0.0, 0.1, 0.0, 0.4], [0.0, 0.0, 0.0, 0.0]]
)
ERRORS = np.array([[0.93, 0.07, 0.0], [0.1, 0.8, 0.1], [0.0, 0.12, 0.88]])


def draw(rng):
    rows = []
    for subject in range(1, 151):
        visits = np.concatenate([[0.0], np.cumsum(rng.uniform(0.6, 1.6, size=7))])
        state, now, jumps = 0, 0.0, [(0.0, 0)]
        while state < 3:
            now += rng.exponential(1 / RATES[state].sum())
            state = int(rng.choice(4, p=RATES[state] / RATES[state].sum()))
            jumps.append((now, state))
        death = now
        for k, visit in enumerate(visits):
            if visit >= death:
                rows.append((subject, death, 4, 4))
                break
            state = [s for t, s in jumps if t <= visit][-1]
            seen = int(rng.choice(3, p=ERRORS[state]))
            lost = k == len(visits) - 1 and rng.random() < 0.5
            rows.append((subject, visit, 99 if lost else state + 1, 99 if lost else seen + 1))
    return [f"{subject},{time:.3f},{state},{seen}" for subject, time, state, seen in rows]


if __name__ == "__main__":
    lines = ["subject,time,state,seen", *draw(np.random.default_rng(21))]
    Path(__file__).with_name("panel.csv").write_text("\n".join(lines) + "\n")
