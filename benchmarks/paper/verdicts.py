"""When a claim of the paper counts as confirmed: the rules, computed and the same for all."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

LEVEL = 0.95
MARGIN = 0.05  # two rates or scores count as equal within it
FACTOR = 2.0  # two effects or ratios count as of the same size within it

VERDICTS = (
    "agrees", "agrees among the seven only", "agrees in direction only", "open", "differs", "beyond"
)  # fmt: skip
RULES = f"""
*Agrees* asks for the direction and, where the paper states a size, for the size: a score or rate
has to be within {MARGIN} of the paper's, a difference or a ratio between 1/{FACTOR:g} and
{FACTOR:g} times it. *Agrees in direction only*: another size. Differences between methods are
paired over the unit of replication (seed, transcript, subject or day) and come with their
{LEVEL:.0%} t-interval, widened by Bonferroni's rule where one method is compared with several.
*Open*: that interval contains zero, so the data do not decide. A method counts as best only if it
is better than every other row of the table, ours included; *agrees among the seven only* if it is
the best of the paper's decoders, but not of all rows. *Beyond*: the paper says nothing of it.
"""


@dataclass
class Finding:
    """A claim of the paper and what came out here."""

    claim: str
    ours: str
    agrees: bool | str
    why: str = ""

    @property
    def verdict(self):
        if isinstance(self.agrees, str):
            return self.agrees
        return "agrees" if self.agrees else "differs"

    @property
    def reason(self):
        """Only what does not agree needs one."""
        return "" if self.verdict == "agrees" else self.why


@dataclass
class Difference:
    """The mean of paired differences and its interval."""

    mean: float
    low: float
    high: float

    def __str__(self):
        return f"{self.mean:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"

    @property
    def open(self):
        return self.low <= 0 <= self.high

    def against(self, paper):
        """The verdict on a difference for which the paper states a size."""
        if self.open:
            return "open"
        if self.mean * paper < 0:
            return "differs"
        return "agrees" if same_size(self.mean, paper) else "agrees in direction only"


def difference(a, b, *, n_comparisons=1):
    """Paired differences a - b, one for each unit; a single unit leaves everything open."""
    d = np.asarray(a, dtype=float) - np.asarray(b, dtype=float)
    if len(d) == 1:
        return Difference(float(d[0]), -np.inf, np.inf)
    t = stats.t.ppf(1 - (1 - LEVEL) / (2 * n_comparisons), len(d) - 1)
    half = t * d.std(ddof=1) / np.sqrt(len(d))
    return Difference(float(d.mean()), float(d.mean() - half), float(d.mean() + half))


def same_size(ours, paper):
    return bool(1 / FACTOR <= ours / paper <= FACTOR)


def same_level(ours, paper):
    return bool(abs(ours - paper) <= MARGIN)


def best(scores, metric, name, seven=()):
    """Whether `name` is the best of all rows: a verdict, and the sentence that supports it.

    scores : method -> metric -> values over the unit of replication
    seven : the decoders of the paper, where the table has others too
    """
    mine = scores[name][metric]
    others = [other for other in scores if other != name]
    each = {
        other: difference(mine, scores[other][metric], n_comparisons=len(others))
        for other in others
    }
    ahead = [other for other in others if each[other].high < 0]
    level = [other for other in others if each[other].open]
    next_one = max(others, key=lambda other: np.mean(scores[other][metric]))
    text = (
        f"{name} {np.mean(mine):.3f}, the best other row {next_one} "
        f"{np.mean(scores[next_one][metric]):.3f}, difference {each[next_one]}"
    )
    if ahead:
        text += f"; ahead of {name}: {listed(ahead)}"
    if level:
        text += f"; not separated from {name}: {listed(level)}"
    verdict = "differs" if ahead else "open" if level else "agrees"
    if verdict != "agrees" and seven:
        narrow, reason = best({each: scores[each] for each in seven}, metric, name)
        text += f". Among the seven: {reason.rstrip('.')}"
        if narrow == "agrees":
            verdict = "agrees among the seven only"
    return verdict, f"{text}."


def listed(names):
    return ", ".join(f"*{name}*" for name in names)


def levels(claim, ours, paper, why=""):
    """A finding on several rates or scores at once: name -> ours, name -> the paper's."""
    text = ", ".join(f"{name} {ours[name]:.3f}" for name in paper)
    far = [name for name in paper if not same_level(ours[name], paper[name])]
    if not far:
        return Finding(claim, f"{text}.", "agrees")
    text += f"; more than {MARGIN} off: {listed(far)}."
    pairs = [(a, b) for a in paper for b in paper if paper[a] - paper[b] > MARGIN]
    kept = pairs and all(ours[a] > ours[b] for a, b in pairs)
    return Finding(claim, text, "agrees in direction only" if kept else "differs", why)


def middle(interval):
    """The mean of a cell such as "0.979 (0.001)"."""
    return float(interval.split()[0])


def published(paper, column):
    """Method -> the paper's mean, from rows of cells in the order of the metrics."""
    return {method: middle(cells[column]) for method, cells in paper.items()}
