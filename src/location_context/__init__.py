"""What surrounds a stay.

Given a point and dates, four JSON sections (weather, astronomy, restaurant guide, events) and an
HTML widget that renders every applicable one. The library comes first; `web`, `widget` and `cli`
are thin callers of `pulse` and `sections`, and `app` puts the parts together.
"""

__version__ = "0.1.0"
