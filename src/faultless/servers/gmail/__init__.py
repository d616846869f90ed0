"""Read, sort, draft and send the mail of one Gmail account; send at most once, and only what was approved."""
