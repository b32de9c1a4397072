"""Transcripts from GTF or GFF3 annotations and FASTA sequences."""

import re
import warnings
from urllib.parse import unquote

from .files import BadRows, malformed, read_lines

CODING = {"CDS", "start_codon", "stop_codon"}
UTR = {
    "five_prime_UTR",
    "three_prime_UTR",
    "five_prime_utr",
    "three_prime_utr",
    "5UTR",
    "3UTR",
    "UTR",
}
STOP_CODONS = {"TAA", "TAG", "TGA"}
GTF_ATTRIBUTE = re.compile(r'(\w+)\s+(?:"([^"]*)"|([^\s;]+))')
COMPLEMENT = str.maketrans("ACGTUNRYKMSWBDHV", "TGCAANYRMKSWVHDB")


class Gathered:
    """The lines of one transcript."""

    def __init__(self, name, sequence, strand, number):
        self.name = name
        self.gene = name
        self.sequence = sequence
        self.strand = strand
        self.number = number  # of the first line
        self.exons, self.coding, self.utr = [], [], []
        self.has_stop = self.is_mixed = self.is_damaged = False

    def add(self, kind, sequence, strand, interval):
        self.is_mixed |= (_arm(sequence), strand) != (_arm(self.sequence), self.strand)
        self.has_stop |= kind == "stop_codon"
        part = self.exons if kind == "exon" else self.coding if kind in CODING else self.utr
        part.append(interval)


def read_annotation(path, fasta, make, on_bad_rows):
    """``make(name, gene, mrna, start, end)`` of each coding transcript.

    None for one on two strands, beyond the end of its sequence, or with a row that was skipped.
    """
    bad = BadRows(path, on_bad_rows)
    gathered, is_gtf, embedded = _gather(path, bad)
    bad.report(stacklevel=3)
    coding = [one for one in gathered if one.coding]
    if not coding:
        raise ValueError(f"{path} has no CDS lines that belong to a transcript.")
    source = path if fasta is None else fasta
    if fasta is None and embedded is None:
        raise ValueError(f"{path} is an annotation without sequences; give the genome as fasta=...")
    wanted = {_arm(one.sequence) for one in coding}
    genome = read_fasta(source, wanted, begin=embedded if fasta is None else 0)
    for one in coding:
        if _arm(one.sequence) not in genome:
            raise malformed(path, one.number, f"the sequence {one.sequence!r} is not in {source}")
    beyond = [one for one in coding if not one.is_mixed and _is_beyond(one, genome)]
    if beyond:
        warnings.warn(
            f"{path}: {len(beyond)} transcripts reach beyond the end of their sequence and were "
            f"left out, the first is {beyond[0].name}, line {beyond[0].number}.",
            stacklevel=3,
        )
    left_out = {*beyond, *(one for one in coding if one.is_mixed or one.is_damaged)}
    return [None if one in left_out else _splice(one, genome, path, is_gtf, make) for one in coding]


def _arm(name):
    """The name of a sequence without the chr that some files write before it."""
    return name[3:] if name[:3].lower() == "chr" and len(name) > 3 else name


def _is_beyond(one, genome):
    exons = one.exons or one.utr + one.coding
    return max(end for _, end in exons + one.coding) > len(genome[_arm(one.sequence)])


def _gather(path, bad):
    """The transcripts in order, whether the file is GTF, and the line of its ##FASTA or None."""
    found, parents, is_gtf, embedded = {}, {}, None, None
    for number, line in read_lines(path):
        if line.startswith("##FASTA") or line.startswith(">"):
            embedded = number - line.startswith(">")
            break
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != 9:
            bad.add(number, f"expected 9 tab-separated columns (GTF or GFF3), got {len(fields)}")
            continue
        sequence, _, kind, start, end, _, strand, _, text = fields
        if is_gtf is None:
            is_gtf = "=" not in text.partition('"')[0]
        attributes = _gtf_attributes(text) if is_gtf else _gff3_attributes(text)
        if not is_gtf and "ID" in attributes and "Parent" in attributes:
            parents[attributes["ID"][0]] = attributes["Parent"][0]
        if kind != "exon" and kind not in CODING and kind not in UTR:
            continue
        names = attributes.get("transcript_id" if is_gtf else "Parent", [])
        try:
            interval = int(start), int(end)
        except ValueError:
            interval = 0, 0
        problem = (
            f"the strand must be + or -, got {strand!r}" if strand not in ("+", "-")
            else f"start and end must be integers, 1 <= start <= end; got {start}, {end}"
            if not 1 <= interval[0] <= interval[1]
            else f"a line of {kind} needs a transcript_id" if is_gtf and not names
            else None
        )  # fmt: skip
        if problem is not None:
            bad.add(number, problem)
        for name in names:
            if name not in found:
                found[name] = Gathered(name, sequence, strand, number)
                found[name].gene = attributes.get("gene_id", [name])[0]
            if problem is None:
                found[name].add(kind, sequence, strand, interval)
            else:  # a part of it is missing
                found[name].is_damaged = True
    for one in found.values():
        one.gene = parents.get(one.name, one.gene)
    return list(found.values()), bool(is_gtf), embedded


def _gtf_attributes(text):
    found = GTF_ATTRIBUTE.findall(text)
    return {key: [quoted or bare] for key, quoted, bare in found if quoted or bare}


def _gff3_attributes(text):
    pairs = (part.partition("=") for part in text.split(";") if part.strip())
    return {
        key.strip(): [unquote(one) for one in value.strip().split(",")] for key, _, value in pairs
    }


def read_fasta(path, wanted, begin=0):
    """The wanted sequences by name (without chr), upper case; lines up to `begin` are not read."""
    parts, current = {}, None
    named = False
    for number, line in read_lines(path):
        if number <= begin or not line or line.startswith(";"):
            continue
        if line.startswith(">"):
            words = line[1:].split()
            if not words:
                raise malformed(path, number, "a sequence has no name after '>'")
            named = True
            arm = _arm(words[0])
            if arm in parts:
                raise malformed(path, number, f"the sequence {arm!r} comes twice")
            current = parts.setdefault(arm, []) if arm in wanted else None
        elif not named:
            raise malformed(path, number, f"expected '>' and a name, got {line[:40]!r}")
        elif current is not None:
            current.append(line.strip())
    return {name: "".join(lines).upper() for name, lines in parts.items()}


def _splice(one, genome, path, is_gtf, make):
    sequence = genome[_arm(one.sequence)]
    exons = _merge(one.exons or one.utr + one.coding)
    mrna = "".join(sequence[start - 1 : end] for start, end in exons)
    first = _offset(min(start for start, _ in one.coding), exons)
    last = _offset(max(end for _, end in one.coding), exons)
    if first is None or last is None:
        raise malformed(path, one.number, f"the CDS of {one.name} is not within its exons")
    start, end = first, last + 1
    if one.strand == "-":
        mrna = mrna.translate(COMPLEMENT)[::-1]
        start, end = len(mrna) - end, len(mrna) - start
    if is_gtf and not one.has_stop and mrna[end - 3 : end] not in STOP_CODONS:
        end += 3 * (mrna[end : end + 3] in STOP_CODONS)
    return make(one.name, one.gene, mrna, start, end)


def _merge(intervals):
    """Sorted intervals, those that touch made one."""
    merged = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1] + 1:
            merged[-1][1] = max(end, merged[-1][1])
        else:
            merged.append([start, end])
    return merged


def _offset(position, exons):
    """Where a position of the genome is in the joined exons; None if it is in none."""
    before = 0
    for start, end in exons:
        if start <= position <= end:
            return before + position - start
        before += end - start + 1
    return None
