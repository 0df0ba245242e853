"""Weather, sky, restaurants and events for a place and dates, as JSON and as an HTML widget.

Each kind of data is a section, found through entry points; sections of other packages can be added.
`web`, `widget` and `cli` are thin callers of `sections`; `app` puts the parts together.
"""

__version__ = "0.1.0"
