"""What the languages of patterns and formulas share: tokens, labels, errors with a caret."""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from ..sequences.labels import unknown_labels

# Possessive: nothing is remembered to try again, however long the text.
QUOTED = r"""'(?:[^'\\]++|\\.)*+'|"(?:[^"\\]++|\\.)*+\""""
_INTEGER = re.compile(r"-?(0|[1-9]\d*)")
_SPACE = re.compile(r"\s*+")
_WIDTH = 80  # columns shown around a mistake in a long text
_DIGITS = 1000  # of an integer label; Python refuses to read much longer ones
MAX_TOKENS = 100_000


class Token(NamedTuple):
    kind: str  # "label", "end", or the symbol or word itself
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Label:
    """A label as written; where it stands is for messages only."""

    text: str
    quoted: bool
    start: int = field(compare=False)
    end: int = field(compare=False)

    @property
    def value(self):
        """What it names as far as one can tell without the states: an integer or a string."""
        is_integer = not self.quoted and len(self.text) <= _DIGITS and _INTEGER.fullmatch(self.text)
        return int(self.text) if is_integer else self.text


def quote(label, words=()):
    """A label as it can be written where `words` mean something else."""
    text = str(label)
    bare = re.fullmatch(r"[^\W\d]\w*", text) if isinstance(label, str) else _INTEGER.fullmatch(text)
    if bare and text not in words:
        return text
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def marked(text, message, start, end=None):
    """The message, and below it the line of the text with carets under start..end."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", start)
    last = len(text) if last < 0 else last
    width = max(1, min(start + 1 if end is None else end, last) - start)
    before, after = "", ""
    if last - first > _WIDTH:
        low, high = max(first, start - _WIDTH // 2), min(last, start + _WIDTH // 2)
        before, after = "..." if low > first else "", "..." if high < last else ""
        first, last = low, high
        width = max(1, min(width, last - start))
    line = before + text[first:last].replace("\t", " ") + after
    return f"{message}\n  {line}\n  {' ' * (len(before) + start - first)}{'^' * width}"


class Parser:
    """Tokens of a text, read one after the other: `next` is not taken yet, `before` is.

    `pattern` matches a token; what it calls "label" is a bare label or a word, of which those in
    `words` are a kind of their own.
    """

    def __init__(self, text, pattern, words=()):
        self.text, self._words = text, words
        self._pattern = re.compile(rf"(?P<quoted>{QUOTED})|{pattern}")
        self._n_tokens = 0
        self.before, self.next = None, self._read(0)

    def _read(self, at):
        """The token at or after a place in the text."""
        at = _SPACE.match(self.text, at).end()
        if at == len(self.text):
            return Token("end", "", at, at)
        match = self._pattern.match(self.text, at)
        if match is None:
            quote = self.text[at] in "'\""
            problem = (
                "this quote is never closed"
                if quote
                else f"a label with {self.text[at]!r} in it must be quoted"
            )
            raise ValueError(marked(self.text, problem, at))
        self._n_tokens += 1
        if self._n_tokens > MAX_TOKENS:
            problem = f"it is too long: more than {MAX_TOKENS:,} labels and symbols"
            raise ValueError(marked(self.text, problem, at))
        word = match.group()
        kind = "label" if match.lastgroup in ("label", "quoted") else word
        return Token(word if word in self._words else kind, word, at, match.end())

    def take(self, *kinds):
        """The next token if it is one of the kinds, else None; all kinds if none is given."""
        token = self.next
        if kinds and token.kind not in kinds:
            return None
        if token.kind != "end":
            self.before, self.next = token, self._read(token.end)
        return token

    def fail(self, message, token=None):
        token = token or self.next
        raise ValueError(marked(self.text, message, token.start, token.end))

    def label(self, token):
        if token.text[0] not in "'\"":
            return Label(token.text, False, token.start, token.end)
        text = re.sub(r"\\(.)", r"\1", token.text[1:-1], flags=re.DOTALL)
        return Label(text, True, token.start, token.end)


def label_numbers(labels, text, states):
    """The index of every label among the states, by its text; 3 and '3' are written alike."""
    known = {state: i for i, state in enumerate(states) if isinstance(state, str)}
    for i, state in enumerate(states):
        known.setdefault(str(state), i)
    for label in labels:
        if label.text not in known:
            problem = unknown_labels([label.value], states)
            raise ValueError(marked(text, problem, label.start, label.end))
    return {label.text: known[label.text] for label in labels}


class Classes:
    """Labels that no set of label numbers tells apart: the class of every label."""

    def __init__(self, sets, n_labels):
        member_of = [[] for _ in range(n_labels)]
        for k, members in enumerate(set(sets)):
            for a in members:
                member_of[a].append(k)
        numbers = {}
        self.class_of = [numbers.setdefault(tuple(ks), len(numbers)) for ks in member_of]
        self.n_classes = len(numbers)

    def of(self, members):
        """The classes that make up one of the sets."""
        return {self.class_of[a] for a in members}
