"""Weather, sky, restaurants and events around a stay.

Given a point and dates: JSON sections, which describe themselves and are found by entry points,
and an HTML widget that renders every applicable one. The library comes first; `web`, `widget` and
`cli` are thin callers of `sections`, and `app` puts the parts together.
"""

__version__ = "0.1.0"
