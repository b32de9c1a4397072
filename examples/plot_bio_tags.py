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
from skchmm.constraints import ForbiddenEdges, StartsIn
from skchmm.metrics import trajectory_validity_rate

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
    "{PER} met {PER} in {LOC}",
    "the train from {LOC} to {LOC} was late",
    "{PER} lives near {LOC}",
    "in {LOC} , {PER} said nothing",
    "{LOC} is far away from {LOC}",
    "{PER} and {PER} left",
]


def draw_sentence(rng):
    words, tags = [], []
    for word in rng.choice(FRAMES).split():
        if word == "{PER}":
            particle = rng.choice(["", "van", "de"], p=[0.6, 0.2, 0.2])
            name = [rng.choice(FIRST), *([particle] if particle else []), rng.choice(LAST)]
        else:
            name = rng.choice(PLACES).split() if word == "{LOC}" else []
        kind = word.strip("{}")
        words += name or [word]
        tags += [f"{'I' if k else 'B'}-{kind}" for k in range(len(name))] or ["O"]
    return words, tags


rng = np.random.default_rng(0)
sentences = [draw_sentence(rng) for _ in range(600)]
train, test = sentences[:100], sentences[100:]

# %%
# A classifier of single words
# ----------------------------


def features(words, k):
    before = words[k - 1] if k else "START"
    return {"word": words[k], "capital": words[k][0].isupper(), "after": before[0].isupper()}


rows = [features(words, k) for words, _ in train for k in range(len(words))]
classifier = make_pipeline(DictVectorizer(), LogisticRegression(max_iter=1000))
classifier.fit(rows, [tag for _, tags in train for tag in tags])
tags = classifier.classes_.tolist()
new_rows = [[features(words, k) for k in range(len(words))] for words, _ in test]
scores = [classifier.predict_log_proba(each) for each in new_rows]

# %%
# The rules of the scheme
# -----------------------
#
# I-PER follows B-PER or I-PER, I-LOC follows B-LOC or I-LOC, and neither is the first tag.

rules = [
    StartsIn([tag for tag in tags if not tag.startswith("I")]),
    ForbiddenEdges([(a, b) for a in tags for b in tags if b[0] == "I" and a[2:] != b[2:]]),
]
uniform = np.full(len(tags), 1 / len(tags))
decoder = ConstrainedHMM.from_parameters(
    uniform, np.tile(uniform, (len(tags), 1)), states=tags, constraints=rules
)
answers = {
    "word by word": [np.array(tags)[each.argmax(axis=1)] for each in scores],
    "with the rules": decoder.predict(scores),
}
exact = {}
for name, paths in answers.items():
    exact[name] = np.mean([path.tolist() == truth for path, (_, truth) in zip(paths, test)])
    valid = trajectory_validity_rate(paths, rules)
    print(f"{name:15s} {valid:.3f} of sentences valid, {exact[name]:.3f} exact")

# %%
# Some sentences that the rules have mended.

before, after = ([path.tolist() for path in paths] for paths in answers.values())
mended = [k for k, (_, truth) in enumerate(test) if before[k] != truth == after[k]]
for k in mended[:3]:
    words, truth = test[k]
    print()
    print(*(f"{word:>8s}" for word in words))
    for paths in answers.values():
        print(*(f"{tag:>8s}" for tag in paths[k]))
