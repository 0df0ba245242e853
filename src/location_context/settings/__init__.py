from location_context.settings.reading import PREFIX as PREFIX
from location_context.settings.secret import Secret as Secret
from location_context.settings.table import Settings as Settings
from location_context.settings.table import unknown as unknown
