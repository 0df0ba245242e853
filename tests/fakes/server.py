"""The fake server of the package's own kit."""

from location_context.testing.server import FakeRequest, FakeResponse, FakeServer, Respond

__all__ = ["FakeRequest", "FakeResponse", "FakeServer", "Respond"]
