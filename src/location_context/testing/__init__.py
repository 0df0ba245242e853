"""The conformance kit, with which other packages test their providers and sections."""

from location_context.testing.conformance import ConformanceError as ConformanceError
from location_context.testing.conformance import check_provider as check_provider
from location_context.testing.conformance import check_section as check_section
from location_context.testing.conformance import description_problems as description_problems
from location_context.testing.conformance import write_sample as write_sample
from location_context.testing.server import FakeRequest as FakeRequest
from location_context.testing.server import FakeResponse as FakeResponse
from location_context.testing.server import FakeServer as FakeServer
