"""Questions on a chart's table: their words, their forms, and what each asks for.

``words.py`` makes tokens of a question, ``phrases.py`` and ``matching.py`` match them with a form, ``replies.py`` and
``rankings.py`` work the answer out; ``saccade.readers.charts.questions`` lists the forms and answers.
"""
