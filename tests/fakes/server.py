"""The fake server of the package's own kit."""

from location_context.testing.server import FakeRequest, FakeResponse, FakeServer, Respond

# the names that tests outside the sections still use
Asked, Answered, StandIn = FakeRequest, FakeResponse, FakeServer

__all__ = ["Answered", "Asked", "FakeRequest", "FakeResponse", "FakeServer", "Respond", "StandIn"]
