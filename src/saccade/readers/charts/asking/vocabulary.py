"""The words that questions on charts may be made of, and the few symbols that their forms are written with."""

from collections.abc import Mapping
from types import MappingProxyType

SYMBOLS: Mapping[str, str] = MappingProxyType(
    {
        # Superlatives, comparatives and relations.
        "MAX": "highest|largest|greatest|biggest|tallest|longest|maximum|maximal|max|most|peak|top",
        "MIN": "lowest|smallest|least|shortest|minimum|minimal|min|fewest|tiniest",
        "MORE": "more|higher|larger|greater|bigger|taller|longer",
        "LESS": "less|lower|smaller|fewer|shorter",
        "SIZED": "large|high|big|tall|great|much|many|long",
        "ABOVE": "above|over|exceeding|exceed|exceeds|exceeded",
        "BELOW": "below|under|beneath",
        "ATLEAST": "at least|no less than|not less than|no fewer than",
        "ATMOST": "at most|no more than|not more than|no higher than",
        "EQUAL": "equal|equals|the same as|same as|exactly",
        "THAN": "than",
        # What is worked out.
        "SUM": "sum|total|sum total|overall total|grand total|combined value|combined total",
        "TOGETHER": "together|combined|altogether|in total|added up|add up|added together|in sum|add together",
        "MEAN": "average|mean|average value|mean value|arithmetic mean",
        "ONAVERAGE": "on average",
        "MEDIAN": "median|median value",
        "RANGE": "range",
        "DIFFERENCE": "difference|differences|gap|absolute difference|difference in value|difference in values",
        "MINUS": "minus",
        "RATIO": "ratio",
        "TIMES": "times",
        "DIVIDED": "divided by",
        "TWICE": "twice|double",
        "HALF": "half",
        "SHARE": "share|percentage|proportion|fraction|percentage share|percent share|percent",
        "OFTOTAL": "of the total|of total|of the whole|of the sum|of the pie|of the grand total|of everything",
        "CHANGE": "percentage change|percent change|relative change|percentage growth|percent growth|growth rate",
        "GROWTH": "percentage increase|percent increase",
        "DROP": "percentage decrease|percent decrease|percentage drop|percentage decline",
        "RISE": "increase|grow|rise|increased|grew|rose",
        "FALL": "decrease|fall|drop|decline|decreased|fell|dropped|declined",
        "TREND": "trend|overall trend|general trend",
        "RISING": "rising|increasing|growing",
        "FALLING": "falling|decreasing|declining",
        "OVERTIME": "over time|over the years|over the period|with time",
        "COUNT": "count|number of|the number of|total number of",
        # What is asked for.
        "WHAT": "what 's|what is|what was|what are|what were|what's|what will be",
        "WHATIF": "what",
        "TELL": "tell me|give me|give|find|calculate|compute|determine|name|state|report|identify|work out|say",
        "WHICH": "which|which one|whose",
        "WHO": "who",
        "WHEN": "when",
        "HOWMANY": "how many",
        "HOWMUCH": "how much|by how much",
        "HOWHIGH": "how high|how large|how big|how tall|how great|how long",
        "LIST": "list|sort|rank|order|arrange|put",
        "ASCENDING": "ascending|increasing order of|ascending order of",
        "DESCENDING": "descending|decreasing order of|descending order of",
        "ORDERED": "order|in order|sorted|ranked|ordered",
        # Verbs.
        "IS": "is|are|was|were|be|being|lie|lies",
        "HAS": "has|have|had|shows|show|showed|reaches|reach|reached|records|record|recorded|takes|with|having",
        "DOES": "does|do|did",
        "HAPPEN": "occur|occurs|occurred|happen|observed|found|occurring",
        "MAKEUP": "make up|makes up|stand for|stands for|take up|take|made up|account for|accounts for|accounted for"
        "|represent|represents|constitute",
        "THERE": "are there|there are|is there|are shown|are displayed|are plotted|are in|are drawn|are listed|there",
        # Small words.
        "OF": "of|for|in|on|at|during|within",
        "BY": "by",
        "S": "'s",
        "AND": "and",
        "PLUS": "plus",
        "BOTH": "both",
        "OR": "or",
        "TO": "to",
        "FROM": "from",
        "AS": "as",
        "BETWEEN": "between|among",
        "ACROSS": "across|through|throughout",
        "ALL": "all|every|each|all the|all of|the whole|entire",
        "IT": "that|those|the one|it",
        "COMMA": ",",
        # Nouns.
        "VALUE": "value|values|amount|amounts|figure|figures|level|reading|height|size|data value"
        "|data values|numeric value",
        "CATEGORY": "category|categories|x-axis label|x-axis labels|x-axis category|x-axis categories|label|labels",
        "SERIES": "series|data series|legend entry|legend entries|legend label|legend labels|variable|variables",
        "MARK": "bar|bars|slice|slices|sector|sectors|segment|segments|point|points|column|columns|wedge|data point"
        "|data points|wedges|dot|dots",
        "LINE": "line|lines|curve|curves",
        "YEAR": "year|years",
        "MONTH": "month|months",
        "DAY": "day|days",
        "THING": "item|items|group|groups|entry|entries|thing|things|option|options|country|countries|city|cities"
        "|product|products|company|companies|region|regions|state|states|brand|brands|person|people|team|teams|sport|sports"
        "|department|departments|fruit|fruits|age group|age groups|type|types|kind|kinds|source|sources|sector",
        "COLOUR": "colour|color|colours|colors",
        "SHOWN": "shown in|drawn in|coloured|colored|painted|represented by|shown by|filled with",
        "MEASURE": "",
    }
)
"""Words and phrases by symbol, between bars. Whatever is not here, no name, no number and no noun of the chart's own
title makes a question one that is not understood."""

NOISE = (
    "the|a|an|please|is it true that|true that|different|distinct|approximately|this|given|shown"
    "|depicted|respective|me|then|exact"
    "|in the chart|in this chart|of the chart|on the chart|in the graph|in this graph|of the graph|on the graph"
    "|in the figure|in the plot|in this plot|of the plot|in the diagram|in the picture|in the image|in the bar chart"
    "|in the line chart|in the pie chart|in the pie|of the pie|in the bar graph|in the line graph|in the given chart"
    "|according to the chart|according to the graph|based on the chart|based on the graph|from the chart"
    "|in the legend|on the x-axis|the chart|the graph|this chart|in the table|on the y-axis|chart|graph|pie chart"
    "|in the stacked bar chart|in the grouped bar chart"
)
"""What may be left out without another meaning."""

NUMBER_NAMES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
ORDINALS = ("first", "second", "third", "fourth", "fifth")


def phrases() -> dict[tuple[str, ...], tuple[str, ...]]:
    """The symbols of each phrase, by its words; none for noise."""
    found: dict[tuple[str, ...], tuple[str, ...]] = {tuple(phrase.split()): () for phrase in NOISE.split("|")}
    for symbol, listed in SYMBOLS.items():
        for phrase in filter(None, listed.split("|")):
            words = tuple(phrase.split())
            found[words] = (*found.get(words, ()), symbol)
    return found


PHRASES: Mapping[tuple[str, ...], tuple[str, ...]] = MappingProxyType(phrases())
LONGEST = max(map(len, PHRASES))
