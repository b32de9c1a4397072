"""
A network's scores made valid: a check digit
============================================

A neural network reads handwritten digits, one at a time, and is now and then wrong. The digits are
those of article numbers (EAN-13): the last of the thirteen is a check digit, so that the digits,
with weights 1, 3, 1, 3, ..., sum to a multiple of ten. A wrong digit is noticed by that. A
constrained decoder does better: it finds the most probable number that is valid.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from skchmm import ConstrainedHMM, Controller

images, digits = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(images, digits, test_size=0.7, random_state=0)
network = MLPClassifier((32,), max_iter=1000, alpha=1.0, random_state=0).fit(X_train, y_train)
print(f"{network.score(X_test, y_test):.3f} of single digits are read right")

# %%
# Write numbers
# -------------
#
# Five hundred valid numbers, each digit drawn as one of its test images.

rng = np.random.default_rng(0)
numbers = rng.integers(0, 10, size=(500, 13))
weights = np.resize([1, 3], 13)
numbers[:, -1] = -(numbers[:, :-1] @ weights[:-1]) % 10
written = np.array([[rng.choice(np.flatnonzero(y_test == d)) for d in row] for row in numbers])

# %%
# The rule
# --------
#
# The controller remembers whether the next weight is 3, and the sum up to now, without its tens.

rule = Controller.from_functions(
    states=range(10),
    controller_states=[(three, total) for three in (False, True) for total in range(10)],
    initial=lambda digit: (True, digit),
    update=lambda c, before, digit: (not c[0], (c[1] + (3 if c[0] else 1) * digit) % 10),
    gate=None,
    accept=[(three, 0) for three in (False, True)],
)
uniform = np.full(10, 0.1)
reader = ConstrainedHMM.from_parameters(
    uniform, np.tile(uniform, (10, 1)), states=range(10), constraints=rule
)

# %%
# Any model's log probabilities can be decoded. One row of scores per digit, one sequence per
# number.

scores = [network.predict_log_proba(X_test[row]) for row in written]
read = {
    "digit by digit": np.array([s.argmax(axis=1) for s in scores]),
    "with the rule": np.array(reader.predict(scores)),
}
for name, guesses in read.items():
    right = (guesses == numbers).all(axis=1)
    valid = (guesses @ weights) % 10 == 0
    print(f"{name:15s} {right.mean():.3f} of numbers right, {valid.mean():.3f} valid")

# %%
# How sure is it? The probability of the number given the scores and the rule tells which of the
# numbers should be read again by a person.

sure = np.array([np.exp(reader.decode(s)[0] - reader.log_likelihood(s)[0]) for s in scores])
right = (read["with the rule"] == numbers).all(axis=1)
for low, high in ((0.0, 0.9), (0.9, 0.99), (0.99, 1.0)):
    some = (low < sure) & (sure <= high)
    share = right[some].mean()
    print(f"probability {low:.2f} to {high:.2f}: {some.sum():3d} numbers, {share:.2f} right")

# %%
# A number that was misread, and is right with the rule.

k = int(np.flatnonzero((read["digit by digit"] != numbers).any(axis=1) & right)[0])
figure, axes = plt.subplots(1, 13, figsize=(10, 1.7), layout="constrained")
for ax, image, *guess in zip(axes, written[k], *(guesses[k] for guesses in read.values())):
    ax.imshow(X_test[image].reshape(8, 8), cmap="Greys")
    ax.set_axis_off()
    if guess[0] == guess[1]:
        ax.set_title(guess[0])
    else:
        ax.set_title(f"{guess[0]} → {guess[1]}", color="#c1121f")
