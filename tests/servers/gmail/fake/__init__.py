"""A Gmail on the loopback interface, held to Google's own description of it."""

from tests.servers.gmail.fake.service import FakeGmail
from tests.servers.gmail.fake.trouble import Trouble

__all__ = ["FakeGmail", "Trouble"]
