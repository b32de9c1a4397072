"""Spliced transcripts, each nucleotide labelled UTR5, START, CDS, STOP or UTR3."""

from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import Bunch

from .annotation import read_annotation
from .files import BadRows, find_file, malformed, read_lines

STATES = ("UTR5", "START", "CDS", "STOP", "UTR3")
# The same with positions in the codon.
PARTS = {
    state: part
    for part in STATES
    for state in ((part,) if part.startswith("UTR") else (f"{part}{k}" for k in (1, 2, 3)))
}
COLUMNS = ("transcript", "gene", "cds_start0", "cds_end0", "mrna")


class Transcript(NamedTuple):
    """A spliced transcript; its coding part ``mrna[start:end]`` has both start and stop codon."""

    name: str
    gene: str
    mrna: str
    start: int
    end: int


def load_transcripts(
    path: str | PathLike,
    fasta: str | PathLike | None = None,
    *,
    one_per_gene: bool = False,
    codon_positions: bool = False,
    on_bad_rows: str = "raise",
    data_home: str | PathLike | None = None,
    return_X_y: bool = False,
) -> Any:
    """Load transcripts from a table, or from an annotation and a genome.

    Only transcripts with all five labels are loaded: those with both UTRs, and a coding part of
    more than a start and a stop codon.

    Parameters
    ----------
    path : str or path-like
        A tab-separated table with a header and the columns transcript, gene, cds_start0, cds_end0
        (0-based, half open, in the mRNA; with start and stop codon) and mrna; or an annotation
        in GTF or GFF3. Gzipped or not, here or in the data home.
    fasta : str or path-like, default=None
        The genome for an annotation; not needed for a GFF3 file that has it at its end.
    one_per_gene : bool, default=False
        Only the transcript with the longest coding part of each gene (the first of several).
    codon_positions : bool, default=False
        With True, the labels of the coding part say the position in the codon too: START1, START2,
        START3, CDS1, and so on.
    on_bad_rows : {"raise", "skip"}, default="raise"
        What to do about rows that cannot be read: an error that lists them, or leave them out, and
        with them the transcripts of an annotation that they belong to; a warning says how many.
    data_home : str or path-like, default=None
        See :func:`get_data_home`.
    return_X_y : bool, default=False
        Only ``(X, y)``.

    Returns
    -------
    Bunch
        X (list of arrays of single upper-case letters), y (list of arrays of labels), ids (the
        transcripts), groups (their genes), states, parts (a dictionary from states to the five
        labels), n_left_out, DESCR.

    See Also
    --------
    load_fly_genes : Genes of the fruit fly, shipped with the package.

    Notes
    -----
    START is the first three nucleotides of the coding part, STOP its last three. The coding part of
    an annotation spans its CDS, start_codon and stop_codon lines (GTF leaves the stop codon out of
    the CDS, GFF3 does not); for GTF without stop_codon lines, it is prolonged by a stop codon that
    follows. Exons are those of the exon lines, or else of UTR and CDS lines. Transcripts on more
    than one strand (trans-splicing) are left out, and so are those that reach beyond the end of
    their sequence; a warning says how many. ``chr2L`` and ``2L`` name the same sequence.
    `n_left_out` counts all that are left out.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from skchmm.datasets import load_transcripts
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "genes.tsv"
    ...     _ = path.write_text(
    ...         "transcript\\tgene\\tcds_start0\\tcds_end0\\tmrna\\n"
    ...         "t1\\tg1\\t2\\t11\\tacATGAAATAGgg\\n")
    ...     genes = load_transcripts(path)
    >>> genes.y[0].tolist()[:6]
    ['UTR5', 'UTR5', 'START', 'START', 'START', 'CDS']
    """
    path = find_file(path, data_home)
    if fasta is not None:
        fasta = find_file(fasta, data_home)
    if _is_table(path):
        transcripts = _read_table(path, BadRows(path, on_bad_rows))
    else:
        transcripts = read_annotation(path, fasta, Transcript, on_bad_rows)
    whole = [one for one in transcripts if one is not None and _has_all_parts(one)]
    n_left_out = len(transcripts) - len(whole)
    if one_per_gene:
        longest = {}
        for one in whole:
            best = longest.setdefault(one.gene, one)
            if one.end - one.start > best.end - best.start:
                longest[one.gene] = one
        whole = [one for one in whole if longest[one.gene] is one]
    X = [np.frombuffer(one.mrna.encode("ascii"), dtype="S1").astype("U1") for one in whole]
    y = [_labels(one, codon_positions) for one in whole]
    parts = PARTS if codon_positions else dict(zip(STATES, STATES))
    if return_X_y:
        return X, y
    genes = np.array([one.gene for one in whole])
    return Bunch(
        X=X,
        y=y,
        ids=np.array([one.name for one in whole]),
        groups=genes,
        states=tuple(parts),
        parts=dict(parts),
        n_left_out=n_left_out,
        DESCR=f"{path.name}: {len(X)} transcripts of {len(set(genes.tolist()))} genes, "
        f"{sum(map(len, X))} nucleotides labelled {', '.join(STATES)}.",
    )


def _has_all_parts(one):
    return one.start > 0 and one.end < len(one.mrna) and one.end - one.start > 6


def _labels(one, codon_positions):
    sizes = [one.start, 3, one.end - one.start - 6, 3, len(one.mrna) - one.end]
    labels = np.repeat(STATES, sizes)
    if not codon_positions:
        return labels
    positions = np.resize(["1", "2", "3"], one.end - one.start)
    numbered = np.char.add(labels[one.start : one.end], positions)
    return np.concatenate([labels[: one.start], numbered, labels[one.end :]])


def _is_table(path):
    for _, line in read_lines(path):
        if line.strip() and not line.startswith("#"):
            return line.split("\t")[0] == "transcript"
    raise ValueError(f"{path} is empty.")


def _read_table(path, bad):
    transcripts, header = [], None
    for number, line in read_lines(path):
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.split("\t")
        if header is None:
            header = fields
            missing = [column for column in COLUMNS if column not in header]
            if missing:
                raise malformed(path, number, f"the header has no column {', '.join(missing)}")
            continue
        try:
            transcripts.append(_transcript(fields, header))
        except ValueError as error:
            bad.add(number, error)
            transcripts.append(None)
    bad.report(stacklevel=3)
    return transcripts


def _transcript(fields, header):
    if len(fields) != len(header):
        raise ValueError(f"expected {len(header)} tab-separated fields, got {len(fields)}")
    row = dict(zip(header, fields))
    mrna = row["mrna"].upper()
    if not (mrna.isascii() and mrna.isalpha()):
        raise ValueError("mrna is not a sequence of letters")
    try:
        start, end = int(row["cds_start0"]), int(row["cds_end0"])
    except ValueError:
        raise ValueError("cds_start0 and cds_end0 must be integers") from None
    if not 0 <= start < end <= len(mrna):
        raise ValueError(f"the CDS {start}:{end} is not within the mRNA of {len(mrna)} letters")
    return Transcript(row["transcript"], row["gene"], mrna, start, end)
