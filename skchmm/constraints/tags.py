"""Tag schemes: which sequences of tags mark entities."""

from collections import Counter
from collections.abc import Collection, Hashable

import numpy as np

from ..controller import Controller
from ..sequences.labels import is_collection, listing, sort_key
from .base import Constraint

# For each scheme its prefixes, as begin, inside, end, single. Schemes without the last two let an
# entity end wherever another tag comes.
SCHEMES = {
    "BIO": ("B", "I", None, None),
    "IOB1": ("B", "I", None, None),
    "BILOU": ("B", "I", "L", "U"),
    "BMES": ("B", "M", "E", "S"),
}


class TagScheme(Constraint):
    """The tags are a valid sequence of a tag scheme, so that every entity can be read off.

    A tag is `outside`, or a prefix, the separator and an entity, as in ``"B-PER"``. A path is valid
    if and only if, for every entity e,

    - "BIO" (also called IOB2): every I-e follows directly on B-e or I-e;
    - "IOB1": every B-e follows directly on B-e or I-e, because in this scheme B only separates
      two entities e that touch;
    - "BILOU": every I-e and L-e follows directly on B-e or I-e, and every B-e and I-e is followed
      directly by I-e or L-e; U-e stands alone;
    - "BMES": the same with M, E and S in the places of I, L and U.

    The controller has one state more than there are entities.

    Parameters
    ----------
    scheme : {"BIO", "IOB1", "BILOU", "BMES"}
    entities : str or collection of str
        The entities, as ``["PER", "LOC"]``. Tags that the model does not have are never used, but
        each entity needs one, and every state has to be a tag of the scheme.
    outside : label, default="O"
        The tag of steps outside all entities.
    separator : str, default="-"

    See Also
    --------
    skchmm.metrics.entity_f1_score : F1 score of the entities that tags mark.

    Examples
    --------
    >>> from skchmm import satisfies
    >>> from skchmm.constraints import TagScheme
    >>> scheme = TagScheme("BIO", ["PER", "LOC"])
    >>> scheme.labels()
    ['O', 'B-PER', 'I-PER', 'B-LOC', 'I-LOC']
    >>> satisfies(["B-PER", "I-PER", "O"], scheme), satisfies(["O", "I-PER"], scheme)
    (True, False)
    """

    _label_parameters = ()

    def __init__(
        self,
        scheme: str,
        entities: str | Collection[str],
        *,
        outside: Hashable = "O",
        separator: str = "-",
    ) -> None:
        self.scheme = scheme
        self.entities = entities
        self.outside = outside
        self.separator = separator

    def __setattr__(self, name, value):
        if name in _CHECKS:
            _CHECKS[name](value)
        super().__setattr__(name, value)

    def _entities(self):
        if not is_collection(self.entities):
            return [self.entities]
        is_set = isinstance(self.entities, (set, frozenset))
        return sorted(self.entities, key=sort_key) if is_set else list(self.entities)

    def _tag(self, prefix, entity):
        return f"{prefix}{self.separator}{entity}"

    def labels(self) -> list[Hashable]:
        """All tags of the scheme: `outside`, then those of each entity."""
        prefixes = [prefix for prefix in SCHEMES[self.scheme] if prefix is not None]
        tags = [self._tag(prefix, entity) for entity in self._entities() for prefix in prefixes]
        return [self.outside, *tags]

    def _normal(self, name):
        return frozenset(self._entities()) if name == "entities" else super()._normal(name)

    def _plain(self, name):
        return self._entities() if name == "entities" else super()._plain(name)

    def _build(self, states, max_nodes):
        tags, entities = self.labels(), self._entities()
        if len(set(tags)) < len(tags):
            raise self._error("some of its tags are the same; choose another separator or outside")
        possible = set(tags)
        strange = [state for state in states if state not in possible]
        if strange:
            raise self._error(
                f"the states {listing(strange)} are no tags of the scheme, which are "
                f"{listing(tags)}; name all entities"
            )
        self._check_size(len(entities) + 1, states, max_nodes)
        begin, inside, end, single = SCHEMES[self.scheme]
        if self.scheme == "IOB1":  # I opens an entity, B only goes on after one of the same kind
            begin, inside = inside, begin
        closes = end is not None
        column, n = {state: k for k, state in enumerate(states)}, len(entities) + 1
        # State 0: in no entity; k + 1: in entity k, which has to be closed where the scheme does.
        table = np.full((n, len(states)), -1, dtype=np.int32)
        from_anywhere = 0 if closes else slice(None)
        if self.outside in column:
            table[from_anywhere, column[self.outside]] = 0
        for k, entity in enumerate(entities):
            moves = {begin: (from_anywhere, k + 1), inside: (k + 1, k + 1)}
            if closes:
                moves |= {end: (k + 1, 0), single: (0, 0)}
            known = 0
            for prefix, (sources, target) in moves.items():
                tag = self._tag(prefix, entity)
                if tag in column:
                    table[sources, column[tag]], known = target, known + 1
            if not known:
                raise self._error(
                    f"the entity {entity!r} has no tag among the states {listing(states)}"
                )
        accept = np.ones(n, dtype=bool)
        accept[1:] = not closes
        return Controller(states, table, accept)


def _check_scheme(scheme):
    if not isinstance(scheme, str) or scheme not in SCHEMES:
        raise ValueError(f"TagScheme: scheme must be one of {', '.join(SCHEMES)}; got {scheme!r}")


def _check_separator(separator):
    if not isinstance(separator, str):
        raise ValueError(f"TagScheme: separator must be a string; got {separator!r}")


def _check_outside(outside):
    if not isinstance(outside, Hashable) or is_collection(outside):
        raise ValueError(f"TagScheme: outside must be one label; got {outside!r}")


def _check_entities(entities):
    names = list(entities) if is_collection(entities) else [entities]
    if not names:
        raise ValueError("TagScheme: entities is empty; name at least one, e.g. ['PER']")
    wrong = [name for name in names if not isinstance(name, str)]
    if wrong:
        raise ValueError(f"TagScheme: entities must be strings, e.g. ['PER']; got {listing(wrong)}")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"TagScheme: entities must be all different; repeated: {listing(twice)}")


_CHECKS = {
    "scheme": _check_scheme,
    "entities": _check_entities,
    "outside": _check_outside,
    "separator": _check_separator,
}
