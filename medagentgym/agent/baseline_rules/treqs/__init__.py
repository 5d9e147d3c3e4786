"""The rules of the baseline agent for questions on the five tables of `treqs`.

- `columns`: what the columns are called, and the words beside which a value of one stands.
- `limits`: conditions on ages, years and days.
- `values`: which values of the tables stand in a question, and which columns they belong to.
- `question`: the reading of a question, and its SQL.
- `answering`: the steps: a program that looks for values of the tables in the question, lookups for terms that are no value, the query.

As elsewhere, the rules know English and the columns of the tables, and no question and no answer. A question has a head (a number of patients, an
extreme or a mean of ages or stays, or columns of one patient) and conditions that one admission meets.
"""
