"""Questions on a chart's table: tokens, matching with forms, meanings and replies.

``words.py`` makes tokens of a question, ``phrases.py`` and ``matching.py`` match them with a form, ``replies.py`` and
``rankings.py`` work the answer out; ``saccade.readers.charts.questions`` lists the forms and answers.
"""
