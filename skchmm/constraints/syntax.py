"""What the languages of patterns and formulas share: tokens, labels, errors with a caret."""

import re
from dataclasses import dataclass, field

from ..sequences.labels import unknown_labels

QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_INTEGER = re.compile(r"-?(0|[1-9]\d*)")
_WIDTH = 80  # columns shown around a mistake in a long text


@dataclass(frozen=True)
class Token:
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
        is_integer = not self.quoted and _INTEGER.fullmatch(self.text)
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
    """Tokens of a text, read one after the other.

    `pattern` matches a token; what it calls "label" is a bare label or a word, of which those in
    `words` are a kind of their own.
    """

    def __init__(self, text, pattern, words=()):
        self.text = text
        self.tokens = list(self._tokenise(re.compile(rf"(?P<quoted>{QUOTED})|{pattern}"), words))
        self.index = 0

    def _tokenise(self, pattern, words):
        at = 0
        while at < len(self.text):
            if self.text[at].isspace():
                at += 1
                continue
            match = pattern.match(self.text, at)
            if match is None:
                quote = self.text[at] in "'\""
                problem = (
                    "this quote is never closed"
                    if quote
                    else f"a label with {self.text[at]!r} in it must be quoted"
                )
                raise ValueError(marked(self.text, problem, at))
            word = match.group()
            kind = "label" if match.lastgroup in ("label", "quoted") else word
            yield Token(word if word in words else kind, word, at, match.end())
            at = match.end()
        yield Token("end", "", at, at)

    @property
    def next(self):
        return self.tokens[self.index]

    def take(self, *kinds):
        """The next token if it is one of the kinds, else None; all kinds if none is given."""
        token = self.next
        if kinds and token.kind not in kinds:
            return None
        self.index += token.kind != "end"
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


def classes(memberships):
    """Labels that nothing tells apart: one of each class, and the class of every label.

    `memberships` has a row of booleans for each label.
    """
    numbers = {}
    class_of = [numbers.setdefault(tuple(row), len(numbers)) for row in memberships]
    return [class_of.index(k) for k in range(len(numbers))], class_of
