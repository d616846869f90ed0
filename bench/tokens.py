"""Counting tokens with a real tokenizer that ships its vocabulary."""

import json
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # the package reads its vocabulary in an old way
    import bpe_openai  # type: ignore[import-untyped]  # it ships no types

    ENCODING = bpe_openai.get_encoding("o200k_base")


def count_tokens(value: object) -> int:
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return len(ENCODING.encode(text))
