"""A written fault as the response a client gets, without its envelope (jsonrpc, id)."""

from faultless.contract import ErrorReply, Json, ResultReply


def to_response(reply: ErrorReply | ResultReply) -> dict[str, Json]:
    if isinstance(reply, ErrorReply):
        return {"error": {"code": reply.code, "message": reply.message, "data": reply.data}}
    return {"result": reply.to_result()}
