"""Sequences of two to four questions about the made-up patients, in the fields of ehr_seqsql, with the SQL of the last one.

Three sorts take turns: several questions about the patient whom the first names (`same_patient`), a group of patients that every question narrows
down (`narrowing`), and one measurement that is asked about in several ways (`measurement`). What a question refers back to is always in the question
before it, or in the only patient or measurement that was named.
"""

from medagentgym.synthetic.sequences.making import make_sequences

__all__ = ["make_sequences"]
