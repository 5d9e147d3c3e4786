"""The rules of the baseline agent: how it reads a question, looks its terms up, and writes queries.

- `wordings`: other wordings of the same thing.
- `time_expressions`: "since 2103", "on the first icu visit" -> conditions on times and visits.
- `schema`: which table holds which kind of event, and the words that name it.
- `phrases`: all else that a question says in fixed words: patient, sex, age, order, number of times, comparison.
- `terms`: which words of the question name something in the tables, and what the lookup says of them.
- `question`: the reading of a whole question.
- `query_parts`, `asked`: SQL from a reading, one small rule for each thing that can be asked.
- `sequences`: the last of several questions, made to stand for itself.
- `treqs`: the rules for the tables of `treqs`, which are others.

The rules know English and the columns of the tables. They know no question and no answer.
"""
