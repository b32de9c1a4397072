"""Normal-Wishart distributions: priors and posteriors of the means and precisions of states.

The precision L of a state is Wishart distributed, with `dof` degrees of freedom and inverse scale
matrix `scale` (the expected precision is dof / scale), and its mean given L is normal, with mean
`means` and precision beta L. As in hmmlearn, "diag" and "spherical" are the same with a scale that
is restricted to diagonal matrices, or to multiples of the identity; what maximises the bound among
those is the diagonal, or its mean, of what would maximise it among all. "tied" has one L for all.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import digamma

from ..emissions.numeric import LOG_2PI, scatter_about
from ..sequences.values import as_numbers
from .divergences import wishart


@dataclass(frozen=True)
class NormalWishart:
    """One distribution per state.

    Parameters
    ----------
    kind : {"full", "tied", "diag", "spherical"}
    means : array (S, d)
    beta : array (S,)
    dof : array (S,), or float if tied
    scale : array
        Compact as the covariances of `Gaussian`.
    """

    kind: str
    means: Any
    beta: Any
    dof: Any
    scale: Any

    @property
    def d(self):
        return self.means.shape[1]

    def log_factors(self):
        """What E[log density] is more than the log density at expected parameters, (S,).

        Without -log(2 pi) / 2 per column, as in hmmlearn.
        """
        halves = (np.reshape(self.dof, (-1, 1)) - np.arange(self.d)) / 2
        apart = digamma(halves) - np.log(np.reshape(self.dof, (-1, 1)) / 2)
        return 0.5 * (apart.sum(axis=1) + self.d * (LOG_2PI - 1 / self.beta))

    def after(self, moments, shift, present, learn_means, learn_scales):
        """The posterior of this prior; what is not learned stays as it is at `present`.

        Parameters
        ----------
        moments : dict
            Of the rows less `shift`, under the posteriors of states; see `numeric.moments`.
        """
        weight, found = moments["weight"][:, 0], present
        if learn_means:
            beta = self.beta + weight
            first = self.beta[:, None] * (self.means - shift) + moments["first"]
            found = replace(found, means=first / beta[:, None] + shift, beta=beta)
        if not learn_scales:
            return found
        outer, tied = self.kind in ("full", "tied"), self.kind == "tied"
        scatter = scatter_about(moments, found.means - shift, outer=outer)
        apart = found.means - self.means
        if outer:
            scatter = scatter + self.beta[:, None, None] * apart[:, :, None] * apart[:, None, :]
            scatter = (scatter + np.swapaxes(scatter, 1, 2)) / 2
        else:
            scatter = np.maximum(scatter, 0.0) + self.beta[:, None] * apart**2
        if self.kind == "spherical":
            scatter = scatter.mean(axis=1)
        scale = self.scale + (scatter.sum(axis=0) if tied else scatter)
        return replace(
            found,
            dof=self.dof + (float(weight.sum()) if tied else weight),
            scale=definite(scale) if outer else scale,
        )

    def divergence(self, prior):
        """KL(self || prior), of all states together."""
        d, ratio = self.d, prior.beta / self.beta
        of_means = d * (ratio - 1 - np.log(ratio))
        of_means += prior.beta * self.dof * self._squares(self.means - prior.means)
        of_precisions = wishart(
            d, self.dof, self._log_det(), prior.dof, prior._log_det(), self._trace_of(prior.scale)
        )
        return float(0.5 * np.sum(of_means) + np.sum(of_precisions))

    def _log_det(self):
        if self.kind in ("full", "tied"):
            return np.linalg.slogdet(self.scale)[1]
        return self.d * np.log(self.scale) if self.kind == "spherical" else self._sum(np.log)

    def _sum(self, function):
        return function(self.scale).sum(axis=1)

    def _trace_of(self, scale):
        """The trace of `scale` over the scale of this one."""
        if self.kind in ("full", "tied"):
            return np.trace(np.linalg.solve(self.scale, scale), axis1=-2, axis2=-1)
        ratio = scale / self.scale
        return self.d * ratio if self.kind == "spherical" else ratio.sum(axis=1)

    def _squares(self, apart):
        """Squares of vectors (S, d) over the scale."""
        if self.kind in ("full", "tied"):
            return np.sum(apart * np.linalg.solve(self.scale, apart[:, :, None])[:, :, 0], axis=1)
        scale = self.scale[:, None] if self.kind == "spherical" else self.scale
        return np.sum(apart**2 / scale, axis=1)


def definite(matrices):
    """Matrices (..., d, d) that rounding made singular, as far from it as doubles can tell.

    A direction without any scatter has that of the prior, which may drown in the others.
    """
    try:
        sizes = np.diagonal(np.linalg.cholesky(matrices), axis1=-2, axis2=-1)
        if (sizes.min(axis=-1) > 1e-6 * sizes.max(axis=-1)).all():
            return matrices
    except np.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh(matrices)
    values = np.maximum(values, 1e-14 * values[..., -1:])
    lifted = (vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return (lifted + np.swapaxes(lifted, -1, -2)) / 2


def times(factors, matrices):
    """One factor per state times compact matrices."""
    factors = np.asarray(factors)
    return matrices * factors.reshape(factors.shape + (1,) * (np.ndim(matrices) - factors.ndim))


# ------------------------------------------------------------- what users give
def shapes_of(kind, S, d):
    """Shapes of all parts."""
    scale = {"spherical": (S,), "diag": (S, d), "full": (S, d, d), "tied": (d, d)}[kind]
    return {"means": (S, d), "beta": (S,), "dof": () if kind == "tied" else (S,), "scale": scale}


def spread(given, default, shape, name):
    """What a parameter of the constructor says of every state."""
    values = as_numbers(default if given is None else given, name)
    if values.shape not in ((), shape, shape[1:] if len(shape) > 1 else ()):
        raise ValueError(f"{name} has shape {values.shape}; expected a number or {shape}.")
    return np.array(np.broadcast_to(values, shape))


def spread_scale(given, kind, S, d):
    """The scale of every state; a number stands for that multiple of the identity."""
    values, shape = as_numbers(given, "scale_prior"), shapes_of(kind, S, d)["scale"]
    if values.shape == () and kind in ("full", "tied"):
        values = np.diag(np.full(d, values))  # infinity times zero is no number
    fits = values.shape in ((), shape, shape[1:])
    if not fits:
        raise ValueError(f"scale_prior has shape {values.shape}; expected a number or {shape}.")
    return np.array(np.broadcast_to(values, shape))


def checked(found, what, S, d):
    """The same with arrays of numbers; ValueError where it is no distribution of S states."""
    parts = {}
    for name, shape in shapes_of(found.kind, S, d).items():
        values = as_numbers(getattr(found, name), f"{name}_{what}_")
        if values.shape != shape:
            raise ValueError(
                f"{name}_{what}_ must "
                + (f"have shape {shape}" if shape else "be a number")
                + f", not {values.shape}."
            )
        if not np.isfinite(values).all():
            raise ValueError(f"{name}_{what}_ must be finite numbers.")
        parts[name] = values if shape else float(values)
    if (parts["beta"] <= 0).any():
        raise ValueError(f"beta_{what}_ must be positive.")
    if (np.asarray(parts["dof"]) <= d - 1).any():
        raise ValueError(f"dof_{what}_ must be more than n_features - 1 = {d - 1}.")
    scale = parts["scale"]
    if found.kind in ("full", "tied"):
        symmetric = np.allclose(scale, np.swapaxes(scale, -1, -2))
        if not symmetric or np.linalg.eigvalsh(scale).min() <= 0:
            raise ValueError(f"scale_{what}_ must be symmetric and positive definite.")
    elif (scale <= 0).any():
        raise ValueError(f"scale_{what}_ must be positive.")
    return replace(found, **parts)
