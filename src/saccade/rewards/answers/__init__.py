"""Rules that compare answers with what was expected, by kind of answer and by data set."""
