"""Vision-language models as transformers holds them: checkpoint, tokenizer, chat template, pixels, positions."""
