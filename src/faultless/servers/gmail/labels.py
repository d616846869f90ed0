"""Labels by name: found, suggested, made."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind, clean
from faultless.servers.gmail.rest import Request

if TYPE_CHECKING:
    from collections.abc import Iterable

    from faultless.servers.gmail.rest import Rest

ARCHIVE = "ARCHIVE"
"""Not a label of Gmail's: what is archived has no INBOX label."""
_LIST = Request("list labels", "GET", "labels")


class Labels:
    """The account's labels; names of known ids are kept, since reading mail asks for them all the time."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self._names: dict[str, str] = {}

    async def name_all(self, ids: Iterable[str]) -> list[str]:
        wanted = list(ids)
        if any(it not in self._names for it in wanted):
            await self._load()
        return [clean(self._names.get(it, it), 225) for it in wanted]

    async def find(self, name: str) -> str | None:
        """The id: of exactly that name, else of one that differs in case only."""
        await self._load()
        exact = [it for it, known in self._names.items() if name in {known, it}]
        folded = [it for it, known in self._names.items() if known.casefold() == name.casefold()]
        return next(iter([*exact, *folded]), None)

    async def require(self, name: str) -> str:
        found = await self.find(name)
        if found is None:
            close = difflib.get_close_matches(name, self._names.values(), n=3)
            candidates = " or ".join(repr(it) for it in close)
            raise Fault(
                FaultKind.NOT_FOUND,
                f"there is no label {clean(name, 225)!r}",
                hint=f"did you mean {candidates}?"
                if close
                else "add_label makes labels; move_email does not",
                details={"label": name, "candidates": list(close)},
            )
        return found

    async def find_or_make(self, name: str) -> tuple[str, bool]:
        """The id, and whether the label is new."""
        found = await self.find(name)
        if found is not None:
            return found, False
        body = {"name": name, "labelListVisibility": "labelShow", "messageListVisibility": "show"}
        try:
            made = await self._rest.repeat(Request("make a label", "POST", "labels", body=body))
        except Fault as fault:
            if fault.kind is not FaultKind.CONFLICT:
                raise
            return await self.require(name), False  # somebody else, or our own first try, made it
        return str(made["id"]), True

    async def _load(self) -> None:
        listed = await self._rest.repeat(_LIST)
        self._names = {str(it["id"]): str(it.get("name", it["id"])) for it in listed.get("labels") or ()}
