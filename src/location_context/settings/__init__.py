"""Settings: every LOCATION_CONTEXT_… variable, and how a package reads those of its own."""

from location_context.settings.parsers import PREFIX as PREFIX
from location_context.settings.parsers import Secret as Secret
from location_context.settings.parsers import read_table as read_table
from location_context.settings.settings import Settings as Settings
from location_context.settings.settings import not_a_setting as not_a_setting
from location_context.settings.settings import unknown as unknown
