"""The fake server of the package's own kit, under the names that these tests use."""

from location_context.testing.server import FakeRequest as Asked
from location_context.testing.server import FakeResponse as Answered
from location_context.testing.server import FakeServer as StandIn
from location_context.testing.server import Respond

__all__ = ["Answered", "Asked", "Respond", "StandIn"]
