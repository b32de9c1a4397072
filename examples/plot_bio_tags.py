"""
Tags from scores: BIO
=====================

Names of people and places are often marked by BIO tags: B-PER for the first word of a person's
name, I-PER for those that follow, O for words outside. A classifier that tags each word by itself
also writes I-PER after O, or after B-LOC, which means nothing. Decoding its scores under the rules
of the scheme makes every sentence readable, and more of them right.
"""

import numpy as np
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skchmm import ConstrainedHMM
from skchmm.constraints import TagScheme
from skchmm.metrics import entity_f1_score, trajectory_validity_rate
from skchmm.plotting import PathDisplay

# %%
# Sentences
# ---------
#
# Drawn from small lists. Some words are hard: Paris and Jordan are names of people as well as of
# places, and a name may have a "de" or "van" in it.

FIRST = ["Ana", "Bo", "Carl", "Dana", "Eva", "Finn", "Paris", "Jordan", "Georgia", "Austin"]
LAST = ["Berg", "Costa", "Silva", "Lund", "Stone", "Rivers", "London", "Lincoln", "Vries", "Jordan"]
PLACES = ["New York", "Paris", "Rio de Janeiro", "Jordan", "London", "San Jose", "Georgia", "Lund"]
FRAMES = [
    "{PER} met {PER} in {LOC}", "the train from {LOC} to {LOC} was late", "{PER} and {PER} left",
    "in {LOC} , {PER} said nothing", "{LOC} is far away from {LOC}", "{PER} lives near {LOC}",
]  # fmt: skip


def draw_sentence(rng):
    words, tags = [], []
    for word in rng.choice(FRAMES).split():
        if word == "{PER}":
            particle = rng.choice(["", "van", "de"], p=[0.6, 0.2, 0.2])
            name = [rng.choice(FIRST), *([particle] if particle else []), rng.choice(LAST)]
        else:
            name = rng.choice(PLACES).split() if word == "{LOC}" else []
        words += name or [word]
        tags += [f"{'I' if k else 'B'}-{word[1:-1]}" for k in range(len(name))] or ["O"]
    return words, tags


rng = np.random.default_rng(0)
train, test = ([draw_sentence(rng) for _ in range(n)] for n in (100, 500))

# %%
# A classifier of single words
# ----------------------------


def rows(words):
    """What the classifier sees of each word."""
    capital = [word[0].isupper() for word in words]
    columns = zip(words, capital, [False, *capital])
    return [{"word": word, "capital": c, "capital before": b} for word, c, b in columns]


classifier = make_pipeline(DictVectorizer(), LogisticRegression(max_iter=1000))
classifier.fit(
    [row for words, _ in train for row in rows(words)], [tag for _, tags in train for tag in tags]
)
tags = classifier.classes_.tolist()
scores = [classifier.predict_log_proba(rows(words)) for words, _ in test]

# %%
# The rules of the scheme
# -----------------------
#
# I-PER follows B-PER or I-PER, I-LOC follows B-LOC or I-LOC, and neither is the first tag.

rules = TagScheme("BIO", ["PER", "LOC"])
even = np.full((len(tags), len(tags)), 1 / len(tags))
decoder = ConstrainedHMM.from_parameters(even[0], even, states=tags, constraints=rules)
answers = {
    "word by word": [np.array(tags)[each.argmax(axis=1)] for each in scores],
    "with the rules": decoder.predict(scores),
}
exact, f1 = {}, {}
for name, paths in answers.items():
    exact[name] = np.mean([path.tolist() == truth for path, (_, truth) in zip(paths, test)])
    valid = trajectory_validity_rate(paths, rules)
    f1[name] = entity_f1_score([truth for _, truth in test], paths)
    print(f"{name:15s} {valid:.3f} of sentences valid, {exact[name]:.3f} exact, F1 {f1[name]:.3f}")

# %%
# A long sentence that the rules have mended.

before, after = ([path.tolist() for path in paths] for paths in answers.values())
mended = [k for k, (_, truth) in enumerate(test) if before[k] != truth == after[k]]
k = max(mended, key=lambda k: len(before[k]))
words, truth = test[k]
display = PathDisplay.from_predictions(truth, {"word by word": before[k], "with rules": after[k]})
display.ax_.set_xticks(np.arange(len(words)) + 0.5, words)
