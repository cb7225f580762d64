"""Questions on a chart's table: their words, their forms, and what each asks for.

``words.py`` makes tokens of a question, ``forms.py`` lists the forms that are understood, ``replies.py`` and
``rankings.py`` work the answer out; ``saccade.readers.charts.questions`` puts them together.
"""
