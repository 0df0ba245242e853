"""Settings: all LOCATION_CONTEXT_… variables, and how another package reads its own variables."""

from location_context.settings.parsers import PREFIX as PREFIX
from location_context.settings.parsers import Secret as Secret
from location_context.settings.parsers import read_table as read_table
from location_context.settings.settings import Settings as Settings
from location_context.settings.settings import not_a_setting as not_a_setting
from location_context.settings.settings import unknown as unknown
