"""A written fault as the response a client gets, without its envelope (jsonrpc, id)."""

import json

from faultless.contract import ErrorReply, Json, ResultReply


def to_response(reply: ErrorReply | ResultReply) -> dict[str, Json]:
    if isinstance(reply, ErrorReply):
        return {"error": {"code": reply.code, "message": reply.message, "data": reply.data}}
    text = json.dumps(reply.payload, ensure_ascii=False, separators=(",", ":"))
    # Each half holds it all, since clients drop one or the other.
    content: list[Json] = [{"type": "text", "text": text}]
    return {"result": {"content": content, "structuredContent": reply.payload, "isError": True}}
