"""
The dishonest casino, from hmmlearn
===================================

A casino plays with a fair die, and now and then swaps it for a loaded one. This is a classic of
hmmlearn's gallery. Only the import has changed: ``from skchmm import hmm`` for ``from hmmlearn
import hmm``. Then we add what hmmlearn cannot say.
"""

import matplotlib.pyplot as plt
import numpy as np

from skchmm import hmm
from skchmm.constraints import MaxDuration, MinDuration
from skchmm.plotting import PathDisplay

fair, loaded = 0, 1
casino = hmm.CategoricalHMM(n_components=2, random_state=99)
casino.startprob_ = np.array([1.0, 0.0])
casino.transmat_ = np.array([[0.95, 0.05], [0.1, 0.9]])
casino.emissionprob_ = np.array([[1 / 6] * 6, [1 / 10] * 5 + [1 / 2]])
rolls, dice = casino.sample(10_000)

# %%
# Learn the dice from the first half of the rolls, and keep the start that does best on the second.
# The score and the learned parameters are those of hmmlearn, to six digits.

train, check = rolls[:5_000], rolls[5_000:]
best, best_score = None, -np.inf
for seed in range(5):
    model = hmm.CategoricalHMM(n_components=2, n_iter=300, tol=0.1, random_state=seed)
    model.fit(train)
    if model.score(check) > best_score:
        best, best_score = model, model.score(check)
honest = int(best.emissionprob_[:, 5].argmin())
learned = best.emissionprob_[[honest, 1 - honest]]
print("P(1), ..., P(6) of the fair die:  ", learned[0].round(2))
print("P(1), ..., P(6) of the loaded die:", learned[1].round(2))
print(f"the casino scores {casino.score(check):.1f} on the second half, the model {best_score:.1f}")

# %%
# Another casino is in a hurry but careful. It leaves the loaded die on the table for eight to
# twelve rolls, no more, and waits for twenty rolls before the next time. hmmlearn has no place for
# such rules. Here they are one more parameter, in sampling and in decoding. We compare with a model
# that swaps dice as often, and does not know the rules.

rules = [MinDuration([loaded], 8), MaxDuration([loaded], 12), MinDuration([fair], 20)]
careful = hmm.CategoricalHMM(n_components=2, constraints=rules, random_state=7)
careful.startprob_, careful.emissionprob_ = casino.startprob_, casino.emissionprob_
careful.transmat_ = np.array([[0.8, 0.2], [0.1, 0.9]])
rolls, dice = careful.sample(10_000)
swaps = np.array([np.bincount(dice[1:][dice[:-1] == die]) for die in (fair, loaded)])
casino.transmat_ = swaps / swaps.sum(axis=1, keepdims=True)
paths = {"without rules": casino.predict(rolls), "with the rules": careful.predict(rolls)}
right = {}
for name, path in paths.items():
    right[name] = np.mean(path == dice)
    found = np.mean(path[dice == loaded] == loaded)
    print(f"{name:14s} {right[name]:.3f} right; {found:.3f} of rolls of the loaded die are found")

# %%
# Three hundred rolls.

names = np.array(["fair", "loaded"])
window = slice(600, 900)
PathDisplay.from_predictions(
    names[dice[window]], {name: names[path[window]] for name, path in paths.items()}
)
plt.gca().set_xlabel("roll")
