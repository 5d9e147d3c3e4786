"""Made-up programs with a function missing, in the form of the task file of biocoder.

Each program draws its input with a seed of its own, so that instances of one kind differ in what they print. The same seed gives the same rows.
"""

from __future__ import annotations

import hashlib
import json
import textwrap
from dataclasses import dataclass
from typing import Any

from medagentgym.programs.marker import MARKER
from medagentgym.synthetic.chance import python_random
from medagentgym.synthetic.positions import Mode

_MAIN = 'if __name__ == "__main__":\n    main()\n'


@dataclass(frozen=True)
class FunctionKind:
    """A function that is asked for, and a program that calls it."""

    signature: str
    problem: str
    solution: str
    program: str
    """With the marker, and `SEED` where the seed of the drawn input goes."""


def _kind(signature: str, problem: str, solution: str, program: str) -> FunctionKind:
    asked = " ".join(textwrap.dedent(problem).split())
    return FunctionKind(signature, asked, textwrap.dedent(solution).strip() + "\n", textwrap.dedent(program).strip("\n") + "\n" + _MAIN)


KINDS = (
    _kind(
        "def gc_content(sequence)",
        """Write a function gc_content that takes a DNA sequence as text and returns the share of its letters that are G or C, as a number between 0
        and 1. Letters may be in either case. The letter N counts neither as a letter nor as G or C; for a sequence without any other letter the
        result is 0.0.""",
        """
        def gc_content(sequence):
            letters = [letter for letter in sequence.upper() if letter != "N"]
            if not letters:
                return 0.0
            return sum(letter in "GC" for letter in letters) / len(letters)
        """,
        f"""
        import random
        {MARKER}
        def main():
            random.seed(SEED)
            for length in (0, 10, 75):
                print(round(gc_content("".join(random.choice("ACGTNacgt") for _ in range(length))), 6))
        """,
    ),
    _kind(
        "def reverse_complement(sequence)",
        """Write a function reverse_complement that returns the reverse complement of a DNA sequence. A pairs with T and G with C, R with Y, S and W
        with themselves, K with M; N stays N. The case of every letter is kept. A letter that is none of these raises ValueError.""",
        """
        def reverse_complement(sequence):
            pairs = dict(zip("ACGTRYSWKMN", "TGCAYRSWMKN"))
            result = []
            for letter in reversed(sequence):
                other = pairs.get(letter.upper())
                if other is None:
                    raise ValueError(f"no such base: {letter}")
                result.append(other if letter.isupper() else other.lower())
            return "".join(result)
        """,
        f"""
        import random
        {MARKER}
        def main():
            random.seed(SEED)
            for _ in range(4):
                print(reverse_complement("".join(random.choice("ACGTRYSWKMNacgt") for _ in range(30))))
            try:
                reverse_complement("ACGX")
            except ValueError:
                print("refused")
        """,
    ),
    _kind(
        "def kmer_counts(sequence, k)",
        """Write a function kmer_counts that counts the words of length k in a sequence, overlapping ones included. It returns a dictionary from word
        to count that holds only words that occur, in alphabetical order. Words with the letter N do not count.""",
        """
        def kmer_counts(sequence, k):
            counts = {}
            for start in range(len(sequence) - k + 1):
                word = sequence[start:start + k]
                if "N" not in word:
                    counts[word] = counts.get(word, 0) + 1
            return dict(sorted(counts.items()))
        """,
        f"""
        import random
        {MARKER}
        def main():
            random.seed(SEED)
            sequence = "".join(random.choice("ACGTN") for _ in range(60))
            for k in (1, 2, 3):
                print(kmer_counts(sequence, k))
        """,
    ),
    _kind(
        "def merge_intervals(intervals, gap=0)",
        """Write a function merge_intervals that takes a list of half-open intervals (chromosome, start, end) and returns them merged: intervals of
        one chromosome that overlap, touch, or are at most `gap` bases apart become one. The result is a list of tuples sorted by chromosome and
        start. The list that is given is not changed.""",
        """
        def merge_intervals(intervals, gap=0):
            merged = []
            for chromosome, start, end in sorted(intervals):
                if merged and merged[-1][0] == chromosome and start <= merged[-1][2] + gap:
                    merged[-1] = (chromosome, merged[-1][1], max(merged[-1][2], end))
                else:
                    merged.append((chromosome, start, end))
            return merged
        """,
        f"""
        import random
        {MARKER}
        def main():
            random.seed(SEED)
            intervals = []
            for _ in range(25):
                start = random.randrange(1000)
                intervals.append((random.choice(["chr1", "chr2"]), start, start + random.randrange(1, 80)))
            before = list(intervals)
            print(merge_intervals(intervals))
            print(merge_intervals(intervals, gap=20))
            print(intervals == before)
        """,
    ),
    _kind(
        "def n50(lengths)",
        """Write a function n50 for the lengths of contigs: the largest length such that contigs of this length and longer ones hold at least half of
        all bases. For no contigs it returns 0.""",
        """
        def n50(lengths):
            half, held = sum(lengths) / 2, 0
            for length in sorted(lengths, reverse=True):
                held += length
                if held >= half:
                    return length
            return 0
        """,
        f"""
        import random
        {MARKER}
        def main():
            random.seed(SEED)
            for count in (0, 1, 8, 40):
                print(n50([random.randint(100, 50000) for _ in range(count)]))
        """,
    ),
    _kind(
        "def transition_ratio(variants)",
        """Write a function transition_ratio that takes a list of (reference, alternative) bases and returns the ratio of transitions (A and G, or C
        and T, exchanged) to transversions (any other exchange of two different single bases). Insertions, deletions and pairs of equal bases count
        as neither. Without transversions it returns float('inf') where there are transitions, else float('nan').""",
        """
        TRANSITIONS = {frozenset("AG"), frozenset("CT")}

        def transition_ratio(variants):
            transitions = transversions = 0
            for reference, alternative in variants:
                if len(reference) != 1 or len(alternative) != 1 or reference == alternative or "-" in (reference, alternative):
                    continue
                if frozenset((reference, alternative)) in TRANSITIONS:
                    transitions += 1
                else:
                    transversions += 1
            if transversions:
                return transitions / transversions
            return float("inf") if transitions else float("nan")
        """,
        f"""
        import random
        {MARKER}
        def main():
            random.seed(SEED)
            variants = [(random.choice("ACGT"), random.choice(["A", "C", "G", "T", "-", "AC"])) for _ in range(80)]
            print(round(transition_ratio(variants), 4))
            print(transition_ratio([("A", "G")]), transition_ratio([("A", "A")]))
        """,
    ),
    _kind(
        "def allele_fraction(self, sample)",
        """Write the method allele_fraction of the class Pileup: the number of reads of a sample that carry the alternative allele divided by the
        number of all its reads at that place. Reads with a mapping quality below `self.lowest_quality` do not count. Without any read that counts it
        returns None. Each call adds one to `self.looked_at`.""",
        """
        def allele_fraction(self, sample):
            self.looked_at += 1
            reads = [read for read in self.reads if read["sample"] == sample and read["quality"] >= self.lowest_quality]
            if not reads:
                return None
            return sum(read["allele"] == "alternative" for read in reads) / len(reads)
        """,
        f"""
        import random
        class Pileup:
            def __init__(self, reads, lowest_quality):
                self.reads = reads
                self.lowest_quality = lowest_quality
                self.looked_at = 0
            {MARKER}
        def main():
            random.seed(SEED)
            alleles = ["alternative", "reference", "reference"]
            reads = [
                {{"sample": random.choice("ABC"), "allele": random.choice(alleles), "quality": random.randint(0, 60)}}
                for _ in range(70)
            ]
            pileup = Pileup(reads, 20)
            for sample in "ABCD":
                fraction = pileup.allele_fraction(sample)
                print(sample, None if fraction is None else round(fraction, 4))
            print(pileup.looked_at)
        """,
    ),
    _kind(
        "@property\ndef weight(self)",
        """Write the property weight of the class Peptide: the sum of the masses of its residues in `MASSES`, and the mass of one molecule of water,
        `WATER`, rounded to three decimals. An empty peptide weighs 0.0.""",
        """
        @property
        def weight(self):
            if not self.residues:
                return 0.0
            return round(sum(MASSES[residue] for residue in self.residues) + WATER, 3)
        """,
        f"""
        import random
        WATER = 18.011
        MASSES = {{"G": 57.021, "A": 71.037, "S": 87.032, "P": 97.053, "V": 99.068, "L": 113.084, "K": 128.095, "F": 147.068}}
        class Peptide:
            def __init__(self, residues):
                self.residues = residues
            {MARKER}
        def main():
            random.seed(SEED)
            for length in (0, 1, 7, 20):
                print(Peptide("".join(random.choice(sorted(MASSES)) for _ in range(length))).weight)
        """,
    ),
    _kind(
        "def open_reading_frames(sequence)",
        """Write a generator function open_reading_frames that yields, for a DNA sequence in capital letters, every stretch that begins with ATG and
        ends with the first stop codon (TAA, TAG or TGA) in its frame, as a tuple (start, end) of positions counted from 0, the stop codon included,
        in the order of their starts. An ATG without a stop codon in its frame yields nothing.""",
        """
        def open_reading_frames(sequence):
            for start in range(len(sequence) - 2):
                if sequence[start:start + 3] != "ATG":
                    continue
                for position in range(start + 3, len(sequence) - 2, 3):
                    if sequence[position:position + 3] in ("TAA", "TAG", "TGA"):
                        yield start, position + 3
                        break
        """,
        f"""
        import random
        {MARKER}
        def main():
            random.seed(SEED)
            sequence = "".join(random.choice(["A", "C", "G", "T", "ATG", "TAA"]) for _ in range(120))
            frames = list(open_reading_frames(sequence))
            print(len(frames), frames[:12])
        """,
    ),
    _kind(
        "def mask_low_quality(qualities, letters, threshold)",
        """Write a function mask_low_quality that changes the list `letters` in place: every letter whose Phred quality (the character's code minus
        33, from the text `qualities`) is below the threshold becomes N. It returns how many letters it changed; those that are N already do not
        count.""",
        """
        def mask_low_quality(qualities, letters, threshold):
            changed = 0
            for position, character in enumerate(qualities):
                if ord(character) - 33 < threshold and letters[position] != "N":
                    letters[position] = "N"
                    changed += 1
            return changed
        """,
        f"""
        import random
        {MARKER}
        def main():
            random.seed(SEED)
            letters = [random.choice("ACGTN") for _ in range(50)]
            qualities = "".join(chr(33 + random.randint(0, 41)) for _ in letters)
            print(mask_low_quality(qualities, letters, 20))
            print("".join(letters))
        """,
    ),
    _kind(
        "def normalised_counts(counts)",
        """Write a function normalised_counts for a matrix of read counts, genes in rows and samples in columns (a NumPy array of whole numbers). It
        returns the counts a million reads of their sample, as an array of floats of the same shape. A sample without reads stays all zeros.""",
        """
        def normalised_counts(counts):
            totals = counts.sum(axis=0)
            return np.divide(counts * 1e6, totals, out=np.zeros(counts.shape), where=totals != 0)
        """,
        f"""
        import numpy as np
        {MARKER}
        def main():
            np.random.seed(SEED)
            counts = np.random.randint(0, 500, size=(6, 4))
            counts[:, 2] = 0
            result = normalised_counts(counts)
            print(result.shape, result.dtype)
            print(np.round(result, 2))
        """,
    ),
    _kind(
        "def read_fasta(path)",
        """Write a function read_fasta that reads a FASTA file and returns a dictionary from the name of a record (what follows `>`, up to the first
        white space) to its sequence in capital letters. Sequences may run over several lines; blank lines are skipped. Of two records of one name
        the first is kept.""",
        """
        def read_fasta(path):
            records = {}
            name = None
            with open(path) as stream:
                for line in stream:
                    line = line.strip()
                    if line.startswith(">"):
                        name = line[1:].split()[0]
                        if name in records:
                            name = None
                        else:
                            records[name] = ""
                    elif line and name is not None:
                        records[name] += line.upper()
            return records
        """,
        f"""
        import os
        import random
        {MARKER}
        def main():
            random.seed(SEED)
            with open("records.fasta", "w") as stream:
                for number in (1, 2, 3, 2):
                    stream.write(f">record{{number}} made up\\n")
                    for _ in range(3):
                        stream.write("".join(random.choice("acgtACGT") for _ in range(random.randint(0, 25))) + "\\n")
            for name, sequence in read_fasta("records.fasta").items():
                print(name, len(sequence), sequence)
            os.remove("records.fasta")
        """,
    ),
)
"""The kinds of made-up functions, in the order in which they are asked."""


def make_rows(seed: int, mode: Mode, count: int) -> list[dict[str, Any]]:
    """`count` rows with the columns of the published task file, the kinds in turn."""
    chance = python_random(seed, f"functions/{mode}")
    rows = []
    for position in range(count):
        kind = KINDS[position % len(KINDS)]
        context = kind.program.replace("SEED", str(chance.randrange(10**6)))
        row = {"problem": kind.problem, "context": context, "signature": kind.signature, "solution": kind.solution}
        rows.append({"idx": hashlib.sha256(json.dumps(row).encode()).hexdigest(), **row})
    return rows
