"""How a fitted model asks its chain about each sequence, in discrete and in continuous time.

The public questions are in questions.py, reasons.py and continuous_questions.py. They read the
sequences and hand them to the methods here.
"""

import numpy as np
from sklearn.utils import check_random_state

from .._numbers import is_whole
from ..constraints.compile import flatten
from ..constraints.logic import build
from ..constraints.soft import Soft
from ..constraints.visitation import ExactVisits
from ..controller.soft import conjunction
from ..graph import AugmentedGraph
from ..inference.chain import Durations
from ..inference.explain import Explainer, Explanation
from ..sequences.labels import check_states
from .fallback import other_chains
from .infeasible import check_possible, report_infeasible

# The distribution of the number of visits ends where less than this is left of it.
NEGLIGIBLE = 1e-10

# Of all the graphs that count visits, a chain keeps so many nodes: some megabytes.
KEPT_NODES = 10_000


class AskingMixin:
    """Questions about sequences that were read, for a `SequenceEstimator`."""

    def _answer_each(self, sequences, ask):
        """``ask(chain, frames)`` for each sequence; empty where that chain has no feasible path."""
        frames, chain = self._frames(sequences), self._chain()
        answers = [ask(chain, frames.part(*steps)) for steps in sequences.ranges]
        return self._answer_again(sequences, frames, answers, ask)

    def _answer_again(self, sequences, frames, answers, ask):
        """The answers; where they are empty, those of the chain that `on_infeasible` asks for."""
        bad = [s for s, found in enumerate(answers) if len(found) == 0]
        if bad:
            for s, chain in other_chains(self, sequences, frames, bad).items():
                answers[s] = ask(chain, frames.part(*sequences.ranges[s]))
            check_possible(sequences, [0.0 if len(a) else -np.inf for a in answers], frames)
        return answers

    # ------------------------------------------------------------ other paths
    def _kbest(self, sequences, k):
        frames, labels = self._frames(sequences), self.classes_
        found = self._chain().best_paths(frames, sequences.offsets, k, labels, n_jobs=self.n_jobs)

        def ask(chain, frames):
            return chain.best_paths(frames, np.array([0, frames.n_steps]), k, labels)[0]

        return sequences.alone(self._answer_again(sequences, frames, found, ask))

    def _filter(self, sequences):
        frames, offsets = self._frames(sequences), sequences.offsets
        proba = self._chain().filter(frames, offsets, n_jobs=self.n_jobs)
        last = proba[-1:, 0] if sequences.n_sequences == 1 else proba[offsets[1:] - 1, 0]
        if np.isnan(last[last.argmin()]):  # what is dead stays so
            # from there on without constraints, as a stream goes on
            dead = np.isnan(proba[:, 0])
            bad = np.unique(np.searchsorted(offsets, np.flatnonzero(dead), side="right") - 1)
            report_infeasible(self, sequences, bad, frames)
            free = self._chain(constrained=False).filter(frames, offsets, n_jobs=self.n_jobs)
            lost = np.bincount(bad, minlength=sequences.n_sequences).astype(float)
            lost[bad] = [np.isnan(free[slice(*sequences.ranges[s]), 0]).any() for s in bad]
            check_possible(sequences, np.where(lost > 0, -np.inf, 0.0), frames)
            proba[dead] = free[dead]
        return proba

    def _random(self, random_state):
        return check_random_state(self.random_state if random_state is None else random_state)

    # ---------------------------------------------------------- probabilities
    def _ask(self, sequences):
        """The sequences, their frames, the chain that answers for each, and its log_z.

        That is the constrained one; for sequences without a feasible path, the one that
        `on_infeasible` asks for.
        """
        frames, offsets = self._frames(sequences), sequences.offsets
        log_z = self._chain().log_likelihood(frames, offsets, n_jobs=self.n_jobs)
        bad = np.flatnonzero(np.isneginf(log_z))
        chains = [self._chain()] * sequences.n_sequences
        if len(bad):
            others = other_chains(self, sequences, frames, bad)
            for chain in set(others.values()):
                mine = [s for s in bad if others[s] is chain]
                log_z[mine] = chain.log_likelihood(frames, offsets, n_jobs=self.n_jobs)[mine]
            check_possible(sequences, log_z, frames)
            for s, chain in others.items():
                chains[s] = chain
        return sequences, frames, chains, log_z

    def _probability(self, constraint, sequences, frames, chains, log_z, kept_as=None):
        constraints = flatten(constraint)
        for part in constraints:
            if isinstance(part, Soft):
                raise ValueError(
                    f"{part!r}: every path obeys a soft rule, at a price; ask for the rule itself, "
                    f"{part.constraint!r}."
                )
        result = np.empty(sequences.n_sequences)
        different = set(chains)
        for chain in different:
            both = self._with_rules(chain, constraints, kept_as)
            log_both = both.log_likelihood(frames, sequences.offsets, n_jobs=self.n_jobs)
            mine = slice(None)
            if len(different) > 1:
                mine = np.array([each is chain for each in chains])
            result[mine] = np.minimum(np.exp(log_both[mine] - log_z[mine]), 1.0)
        return result

    def _with_rules(self, chain, constraints, kept_as):
        """The chain under these constraints too; under a name, it is kept while it is small."""
        kept, name = vars(chain).setdefault("with_rules", {}), (kept_as, self.max_nodes)
        if kept_as is not None and name in kept:
            return kept[name]
        states, graph = check_states(self.classes_.tolist()), chain.graph
        parts = [build(part, states, self.max_nodes) for part in constraints]
        controller = conjunction([graph.controller, *parts], self.max_nodes)
        self._check_controller(controller, constraints)
        both = chain.under(
            AugmentedGraph(controller, graph.start_support, graph.support, max_nodes=self.max_nodes)
        )
        n_nodes = sum(other.graph.n_nodes for other in kept.values()) + both.graph.n_nodes
        if kept_as is not None and n_nodes <= KEPT_NODES:
            kept[name] = both
        return both

    def _visit_distribution(self, states, sequences, max_visits, most):
        """P(k entries) for k up to max_visits, or until next to nothing is left, or up to most."""
        asked = self._ask(sequences)
        members = self._marked(states).tobytes()
        columns, left = [], np.ones(sequences.n_sequences)
        for k in range((most if max_visits is None else max_visits) + 1):
            if k > most:
                columns.append(np.zeros(sequences.n_sequences))
                continue
            rule = ExactVisits(states, k)
            columns.append(self._probability(rule, *asked, kept_as=(members, k)))
            left = left - columns[-1]
            if max_visits is None and (left < NEGLIGIBLE).all():
                break
        return np.stack(columns, axis=1)

    def _marked(self, states):
        """Which states these are."""
        return ExactVisits(states, 1)._subset("states", tuple(self.classes_.tolist()))

    def _expected_duration(self, states, sequences, **clock):
        members = self._marked(states)
        values = self._answer_each(
            sequences, lambda chain, frames: chain.durations(frames, members, **clock)
        )
        return Durations(*np.array(values).T)

    # ---------------------------------------------------------------- reasons
    def _explain(self, sequences):
        frames, chain = self._frames(sequences), self._chain()
        log_z = chain.log_likelihood(frames, sequences.offsets, n_jobs=self.n_jobs)
        bad = (log_z == -np.inf).tolist()
        explainer = self._explainer(chain) if any(bad) else None
        explanations = [
            explainer.explain(
                name, frames.part(begin, end), sequences.known and sequences.known.part(begin, end)
            )
            if infeasible
            else Explanation._of_feasible(name, end - begin)
            for infeasible, name, (begin, end) in zip(bad, sequences.names, sequences.ranges)
        ]
        return sequences.alone(explanations)

    def _explainer(self, chain, parameters=None):
        dynamics = self._dynamics()

        def chain_of(controller, zero_starts, zero_transitions):
            parameters = dynamics.with_zeros(zero_starts, zero_transitions)
            supports = dynamics.supports(*parameters)
            graph = AugmentedGraph(controller, *supports, max_nodes=self.max_nodes)
            return dynamics.chain(graph, *parameters)

        zeros = dynamics.zeros(*(self._parameters() if parameters is None else parameters))
        return Explainer(chain, self._rules, *zeros, chain_of, self.max_nodes)

    def _constraint_costs(self, sequences):
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "constraint_costs returns a dataframe and needs pandas (pip install pandas)."
            ) from error
        frames, offsets = self._frames(sequences), sequences.offsets

        def scores(model):
            chain = model._chain()
            _, log_prob = chain.decode(frames, offsets, n_jobs=self.n_jobs)
            return log_prob, chain.log_likelihood(frames, offsets, n_jobs=self.n_jobs)

        now, columns = scores(self), []
        for k, constraint in enumerate(self.constraints_):
            rest = self.constraints_[:k] + self.constraints_[k + 1 :]
            gains = [_gain(a, b) for a, b in zip(now, scores(self.with_constraints(rest)))]
            columns.append((repr(constraint), *gains))
        rows = [
            (name, text, log_prob[s], log_likelihood[s])
            for s, name in enumerate(sequences.names)
            for text, log_prob, log_likelihood in columns
        ]
        return pd.DataFrame(
            rows, columns=["sequence", "constraint", "log_prob_gain", "log_likelihood_gain"]
        )


def check_number(value, what, least=1):
    """A count that the user gave; `what` is its name and what it counts."""
    if not is_whole(value) or value < least:
        raise ValueError(f"{what}, got {value!r}.")


def _gain(now, without):
    gain = np.zeros(len(now))
    feasible = np.isfinite(without)
    gain[feasible] = without[feasible] - now[feasible]
    return gain
