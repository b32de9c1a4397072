"""Genes that come with the package."""

from pathlib import Path
from typing import Any

from .transcripts import load_transcripts

GENES = Path(__file__).parent / "data" / "fly_genes.tsv.gz"


def load_fly_genes(*, codon_positions: bool = False, return_X_y: bool = False) -> Any:
    """Load 44 genes of the fruit fly, letters and gene structure. They come with the package.

    Spliced transcripts of *Drosophila melanogaster*, one per gene, 114,135 letters in all. Each
    letter is labelled UTR5, START, CDS, STOP or UTR3: before the coding part, its start codon, its
    inner codons, its stop codon, and after it.

    Parameters
    ----------
    codon_positions : bool, default=False
        With True, the labels of the coding part say the position in the codon too: START1, START2,
        START3, CDS1, and so on.
    return_X_y : bool, default=False
        Only ``(X, y)``.

    Returns
    -------
    Bunch
        As :func:`load_transcripts` returns it.

    See Also
    --------
    load_transcripts : Genes from a genome and its annotation.

    Notes
    -----
    The first 1% of the chromosome arms 2L, 3L, 4 and X of FlyBase release 6.42, from
    https://github.com/KorfLab/datacore2024 (MIT licence, which stands beside the file).

    Examples
    --------
    >>> from skchmm.datasets import load_fly_genes
    >>> genes = load_fly_genes()
    >>> len(genes.X), "".join(genes.X[0][genes.y[0] == "START"])
    (44, 'ATG')
    """
    return load_transcripts(GENES, codon_positions=codon_positions, return_X_y=return_X_y)
