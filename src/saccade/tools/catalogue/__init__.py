"""All tools by name: which there are, what each needs, and how a configuration makes them."""
