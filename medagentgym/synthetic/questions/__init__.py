"""Questions about the made-up patients, with gold SQL, in EHRSQL's format.

A `QuestionSet` (`kinds.py`) holds the kinds of questions of one database. `care.py`, `charges.py`, `groups.py`, `happenings.py`, `measurements.py`
and `stays.py` ask what can be asked of any database; `mimic_iii.py` gathers all kinds of that one. A kind draws its parameters from rows that the
task's tables will hold, so that its answer exists, and sorts ranks by what is unambiguous. The pair of kind and parameters decides by its hash
whether it is a training or a test question: both sets know the same kinds and share no pair.
"""
