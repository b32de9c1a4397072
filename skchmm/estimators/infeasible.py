"""What to say of sequences without a feasible path."""

import numpy as np

from ..exceptions import InfeasibleSequenceError, InfeasibleSequenceWarning, warn

# Beyond so many steps, to find the smallest conflict takes longer than one waits for an error.
LONGEST_EXPLAINED = 2000
SHOWN = 8  # constraints listed in a message before the rest is only counted


def report_infeasible(model, sequences, bad, frames):
    """Raise, or warn that sequences without a feasible path are answered without rules."""
    message = describe_infeasible(model, sequences, bad[0], frames, len(bad))
    held = sequences.known is not None and _held(model, sequences, bad[0], frames.whole())
    if held:
        message += held
    elif hasattr(model, "explain"):
        which = "which of them conflict, and where" if model._has_rules else "which"
        message += f" Call explain(X) to see {which}."
    if not model._has_rules or model.on_infeasible == "raise":
        raise InfeasibleSequenceError(message)
    they = "They are" if len(bad) > 1 else "It is"
    warn(f"{message} {they} answered without the constraints.", InfeasibleSequenceWarning)


def check_possible(sequences, log_prob, frames):
    """Raise if a sequence is impossible even without constraints."""
    bad = np.flatnonzero(np.isneginf(log_prob))
    if len(bad):
        reason = _impossible_step(sequences, bad[0], frames)
        raise InfeasibleSequenceError(
            f"{sequences.describe(bad[0]).capitalize()} has probability zero under the model, "
            "with or without constraints: "
            + (reason or "its observations or transitions are impossible.")
        )


def describe_infeasible(model, sequences, s, frames, n_bad=1):
    """One or two sentences about sequence s, the first of `n_bad`."""
    others = f" and {n_bad - 1} more" if n_bad > 1 else ""
    have = "have" if n_bad > 1 else "has"
    name = sequences.describe(s).capitalize()
    reason = _impossible_step(sequences, s, frames)
    if reason or not model._has_rules:
        reason = reason or model._impossible
        return f"{name}{others} {have} probability zero under the model: {reason}"
    hard = model._rules
    rules = ", ".join(map(repr, hard[:SHOWN]))
    if len(hard) > SHOWN:
        rules += f" and {len(hard) - SHOWN} more"
    name = f"{name} ({sequences.lengths[s]} steps){others}"
    zeros = _zeros(sequences, s, frames)
    return f"{name} {have} no feasible path. The constraints are {rules}.{zeros}{model._note}"


def _held(model, sequences, s, frames):
    """What the known labels of sequence s have to do with it, for a message; None if nothing."""
    begin, end = sequences.ranges[s]
    known = sequences.known.part(begin, end)
    steps = np.flatnonzero(known.codes != -1).tolist()
    if not steps:
        return None
    if hasattr(model, "explain") and end - begin <= LONGEST_EXPLAINED:
        explainer = model._explainer(model._chain())
        return f"\n{explainer.explain(sequences.names[s], frames.part(begin, end), known)}"
    labels = [
        f"{' or '.join(repr(model.classes_.tolist()[i]) for i in known.states_at(t))} at step {t}"
        for t in steps[:SHOWN]
    ]
    more = f" and {len(steps) - SHOWN} more" if len(steps) > SHOWN else ""
    return f" Its known labels are {', '.join(labels)}{more}."


def _impossible_step(sequences, s, frames):
    """Say which step no state can have produced, if there is one."""
    step = frames.whole().impossible_step(*sequences.ranges[s])
    if step is None:
        return None
    if sequences.known is not None and sequences.known.codes[sequences.offsets[s] + step] != -1:
        return (
            f"the known label at step {step} of {sequences.describe(s)} cannot have produced what "
            "was observed there (its log-likelihood is -inf)."
        )
    return (
        f"every state has probability zero at step {step} of {sequences.describe(s)} (all of its "
        "log-likelihoods are -inf, the logarithm of zero)."
    )


def _zeros(sequences, s, frames):
    """Say how many steps exclude a state by themselves, as rules may not be all that is wrong."""
    begin, end = sequences.ranges[s]
    zero = np.isneginf(frames.whole().part(begin, end).dense()).any(axis=1)
    if sequences.known is not None:
        zero &= sequences.known.part(begin, end).codes == -1
    if not zero.any():
        return ""
    return (
        f" Besides, some state has probability zero (a log-likelihood of -inf) at {zero.sum()} of "
        "its steps, which excludes all paths through it there."
    )


def why_infeasible(model, data, bad, emission, parameters):
    """Why the first of some sequences has no feasible path with its known labels."""
    sequences, (begin, end) = data.sequences, data.sequences.ranges[bad[0]]
    encoded = emission.encode(sequences.X, sequences.offsets, reset=False)
    frames = emission.log_likelihood(encoded)
    brief = describe_infeasible(model, sequences, bad[0], frames, len(bad))
    possible = frames.impossible_step(begin, end) is None
    if not (possible and model._has_rules and hasattr(model, "_explainer")):
        return brief
    if end - begin > LONGEST_EXPLAINED:
        return brief
    known, chain = data.known and data.known.part(begin, end), model._chain(parameters)
    mine = frames.part(begin, end).clamp(known)
    if sequences.times is not None:
        mine = mine.with_gaps(sequences.times.gaps[begin:end])
        mine = chain.with_entries(mine, np.array([0, end - begin]))
    explainer = model._explainer(chain, parameters)
    others = f"\n{len(bad) - 1} more have none either." if len(bad) > 1 else ""
    return f"{explainer.explain(sequences.names[bad[0]], mine, known)}{others}"
