"""Travel is estimated from distance."""

from statistics import median

from location_context.sections.guide.travel import estimate


def test_estimates_grow_with_distance_and_turn_from_walk_to_drive_at_two_kilometres() -> None:
    minutes = [estimate(km / 10).minutes for km in range(21, 1000)]
    assert minutes == sorted(minutes)
    assert (estimate(2.0).kind, estimate(2.001).kind) == ("walk", "drive")
    assert estimate(0).minutes == 1
    assert 55 <= estimate(80).minutes <= 90  # "about an hour's drive", by motorway


# km in a straight line and OSRM's minutes by car, between five places in Berlin: the README of the
# R package osrm; © OpenStreetMap contributors, ODbL
BERLIN = (
    (9.7, 21.1), (15.9, 33.4), (5.9, 21.2), (2.9, 12.6), (9.7, 22.1), (18.7, 42.3), (5.9, 16.1),
    (9.6, 20.2), (15.9, 33.0), (18.7, 43.0), (13.5, 30.5), (13.1, 27.4), (5.9, 20.1), (5.9, 15.3),
    (13.5, 29.7), (4.3, 12.7), (2.9, 10.2), (9.6, 20.3), (13.1, 26.8), (4.3, 12.3),
)  # fmt: skip


def test_drives_in_a_large_city_take_about_as_long_as_osrm_says() -> None:
    ratios = [estimate(km).minutes / minutes for km, minutes in BERLIN]
    assert 0.9 <= median(ratios) <= 1.1
    assert 0.7 <= min(ratios) <= max(ratios) <= 1.15
