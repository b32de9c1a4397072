"""
Old Faithful: minutes, seconds and words in one table
=====================================================

For two weeks of August 1985 observers of the Old Faithful geyser wrote down how long they waited
for each eruption and how long it lasted (Azzalini and Bowman, 1990, Applied Statistics 39). By day
they timed eruptions; at night they only wrote "short", "medium" or "long". So some rows have a
number, others a word. A hidden Markov model needs no repair of such a table: every column has its
own distribution, and what a row does not have is marginalised out.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skchmm import ConstrainedHMM
from skchmm.emissions import Categorical, Gamma, Gaussian, Product

waiting = """
    80 71 57 80 75 77 60 86 77 56 81 50 89 54 90 73 60 83 65 82 84 54 85 58 79 57 88 68 76 78 74
    85 75 65 76 58 91 50 87 48 93 54 86 53 78 52 83 60 87 49 80 60 92 43 89 60 84 69 74 71 108
    50 77 57 80 61 82 48 81 73 62 79 54 80 73 81 62 81 71 79 81 74 59 81 66 87 53 80 50 87 51 82
    58 81 49 92 50 88 62 93 56 89 51 79 58 82 52 88 52 78 69 75 77 53 80 55 87 53 85 61 93 54 76
    80 81 59 86 78 71 77 76 94 75 50 83 82 72 77 75 65 79 72 78 77 79 75 78 64 80 49 88 54 85 51
    96 50 80 78 81 72 75 78 87 69 55 83 49 82 57 84 57 84 73 78 57 79 57 90 62 87 78 52 98 48 78
    79 65 84 50 83 60 80 50 88 50 84 74 76 65 89 49 88 51 78 85 65 75 77 69 92 68 87 61 81 55 93
    53 84 70 73 93 50 87 77 74 72 82 74 80 49 91 53 86 49 79 89 87 76 59 80 89 45 93 72 71 54 79
    74 65 78 57 87 72 84 47 84 57 87 68 86 75 73 53 82 93 77 54 96 48 89 63 84 76 62 83 50 85 78
    78 81 78 76 74 81 66 84 48 93 47 87 51 78 54 87 52 85 58 88 79
"""
lasted = """
    241 129 L L L S 263 257 122 290 110 327 97 292 263 106 280 S 284 253 114 298 S L S L 170 270
    244 223 211 268 133 293 156 249 132 286 110 276 136 248 S L S L 113 256 125 268 150 L 106
    260 131 269 233 200 224 L 117 316 S L S L S L 212 130 270 121 249 252 260 116 279 229 242
    250 280 109 L M L S 267 123 255 115 280 104 263 106 276 112 267 98 302 109 306 98 257 S L S
    272 S L 176 284 234 117 247 108 280 110 282 127 287 109 246 279 L S L L 253 248 236 225 265
    148 250 228 259 232 281 102 298 256 275 L L L L 119 276 50 295 104 275 102 285 110 270 112
    267 267 L 288 L L S L 116 275 S 222 172 290 207 263 108 264 149 271 126 261 262 107 295 109
    L L L 232 111 282 121 268 112 250 114 255 195 253 113 299 111 L 118 286 L S L L 143 265 253
    262 S 267 105 270 97 282 154 222 254 116 261 L L L 253 L 248 113 268 117 253 103 267 255 238
    263 118 267 256 115 265 M L S L 197 110 277 110 277 276 255 116 299 118 258 252 272 264 277
    S L L 235 S 270 108 L 165 284 238 117 298 111 288 L L L L L L L S L 116 260 100 286 117 281
    116 265 128 245 124 L L S
"""
words = {"S": "short", "M": "medium", "L": "long"}
table = pd.DataFrame({
    "waiting": [float(minutes) for minutes in waiting.split()],
    "seconds": [np.nan if entry in words else float(entry) for entry in lasted.split()],
    "word": [words.get(entry) for entry in lasted.split()],
})  # fmt: skip
print(table.head(6), f"\n\nnot observed: {table.isna().sum().to_dict()} of {len(table)}")

# %%
# One emission per column. A waiting time can be close to normal in each state, a duration is
# positive and skewed, a word is a symbol. EM needs no labels.

emission = Product({"waiting": Gaussian(), "seconds": Gamma(), "word": Categorical()})
settings = {"n_init": 5, "random_state": 0, "tol": 1e-6, "n_iter": 500}
models = {n: ConstrainedHMM(n, emission=emission, **settings).fit(table) for n in (1, 2, 3)}
for n, model in models.items():
    print(f"{n} states: log-likelihood {model.log_likelihood(table)[0]:.1f}")

# %%
# Three states say most. The emission that was learned answers by column.

model = models[3]
parts = model.emission_.emissions_
order = np.argsort((parts["seconds"].shapes_ * parts["seconds"].scales_)[:, 0])
for state in order:
    seconds = parts["seconds"].shapes_[state, 0] * parts["seconds"].scales_[state, 0]
    likeliest = parts["word"].symbols_[parts["word"].probabilities_[state].argmax()]
    print(
        f"state {state}: after {parts['waiting'].means_[state, 0]:.0f} minutes, lasts "
        f"{seconds:.0f} seconds, at night {likeliest!r}"
    )

# %%
# The state of an eruption is known at night as well as by day, and a short eruption is followed by
# a long one.

path = model.predict(table)
print(
    pd.DataFrame(model.transmat_[np.ix_(order, order)])
    .round(2)
    .to_string(header=False, index=False)
)
figure, ax = plt.subplots(figsize=(9, 4), layout="constrained")
colours = np.array(["#c1121f", "#669bbc", "#003049"])[np.argsort(order)]
timed = table["seconds"].notna().to_numpy()
shown = table["seconds"].fillna(table["word"].map({"short": 120, "medium": 180, "long": 240}))
ax.scatter(table.index[timed], shown[timed], c=colours[path[timed]], s=18, label="timed")
ax.scatter(
    table.index[~timed], shown[~timed], c=colours[path[~timed]], s=22, marker="_", label="word"
)
ax.set(xlabel="eruption", ylabel="seconds, or word", title="Eruptions by state; bars were words")
ax.legend(loc="lower right")
plt.show()
