"""Sample sizes and power of common study designs: computing them, and reading a design out of a question.

- `designs`: designs and their power, by the noncentral distributions of SciPy.
- `questions`: from the words of a question to a design and to what is asked of it.
"""
