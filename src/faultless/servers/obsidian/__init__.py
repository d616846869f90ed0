"""A vault of Markdown notes that an agent cannot damage."""
