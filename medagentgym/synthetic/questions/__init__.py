"""Questions about the made-up patients, with gold SQL, in EHRSQL's format.

`making.py` imports the modules of the kinds. A kind draws its parameters from rows that the task's tables will hold, so that its answer exists, and
sorts ranks by what is unambiguous. The pair of kind and parameters decides by its hash whether it is a training or a test question: both sets know
the same kinds and share no pair.
"""
