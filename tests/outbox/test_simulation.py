"""Random histories keep the outbox's promises, and a planted breach of each is seen."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from faultless.outbox import processing
from faultless.outbox.history import History
from faultless.servers.gmail import delivery
from tests.outbox.simulation import BrokenPromiseError, World, run_histories
from tests.servers.gmail.fake.account import Stored


@pytest.fixture(autouse=True)
def _patience_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "PAUSE_SECONDS", 0.0)


def test_some_histories_keep_every_promise() -> None:
    seen = run_histories(0, 40)
    assert seen["histories"] == 40
    assert seen["mails left"] > 10


@pytest.mark.heavy
def test_many_histories_keep_every_promise() -> None:
    count = int(os.environ.get("FAULTLESS_HISTORIES", "2000"))
    seen = run_histories(1000, count)
    assert seen["mails left"] > count / 4
    assert seen["killed"] > count / 4


def test_a_planted_breach_of_each_promise_is_seen(tmp_path: Path) -> None:
    def make() -> World:
        return World(1, tmp_path)

    raw = b"To: ann@example.com\r\nSubject: mail 1\r\nX-Faultless-Send: m\r\n\r\ntext of mail 1"
    unapproved = make()
    unapproved.account.delivered.append(Stored("1", "1", raw, ["SENT"], 0))
    doubled = make()
    doubled.account.delivered += [Stored("1", "1", raw, ["SENT"], 0)] * 2
    lost = make()
    lost.written.add("mail 1")
    lying = make()
    lying.vault.put("Done/x.md", {"message_id": "none", "subject": "x"}, "x")
    for world in (unapproved, doubled, lost, lying):
        with pytest.raises(BrokenPromiseError, match="seed 1"):
            world.check()


def test_an_outbox_that_forgets_what_left_before_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    async def forget(*_: object) -> History:
        return History()

    async def overlook(*_: object) -> None:
        return None

    monkeypatch.setattr(processing, "look_up_history", forget)
    monkeypatch.setattr(processing, "find_filed_copy", overlook)
    with pytest.raises(BrokenPromiseError, match="moving sent the same mail twice"):
        run_histories(4, 1)
