"""The raw-frame battery against our transport and the stock one; writes docs/reference/frames.md."""

import json
import sys
from pathlib import Path

from bench.figures import machine, table
from faultless.testing import WireClient
from tests.wire.cases import LIMIT, REFUSED, Case
from tests.wire.specimen import specimen_command

STOCK = [sys.executable, str(Path(__file__).parent / "servers" / "sdk.py")]
PAGE = Path(__file__).parent.parent / "docs" / "reference" / "frames.md"
PREFACE = """# What a bad frame gets

Every line below was sent to a running server, followed by a `ping`. *Nothing* means that only the ping was
answered: a caller of that frame waits for ever. Written by `python -m bench frames`; our column is held by
`tests/wire/test_frames.py`, which also has the exact messages.
"""


def answer_to(client: WireClient, case: Case) -> str:
    client.send(case.line + b"\n")
    client.send({"jsonrpc": "2.0", "id": "probe", "method": "ping"})
    answers = [client.receive()]
    while answers[-1].get("id") != "probe":
        answers.append(client.receive())
    return ", ".join(describe(answer) for answer in answers[:-1]) or "nothing"


def describe(answer: dict[str, object]) -> str:
    match answer:
        case {"error": {"code": int() as code}}:
            return f"{code}, id {json.dumps(answer.get('id'))}"
        case _:
            return f"processed, id {json.dumps(answer.get('id'))}"


def main() -> None:
    with (
        WireClient(specimen_command(max_frame_bytes=LIMIT)) as ours,
        WireClient(STOCK) as stock,
    ):
        ours.open("handshake")
        stock.open("handshake")
        rows = [[case.sentence, answer_to(ours, case), answer_to(stock, case)] for case in REFUSED]
    text = table(machine("mcp"), ["frame", "faultless", "stock stdio server"], rows)
    PAGE.write_text(f"{PREFACE}\n{text}")
    print(text)


if __name__ == "__main__":
    main()
