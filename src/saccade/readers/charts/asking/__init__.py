"""Questions on a chart's table: words, forms, meanings."""
