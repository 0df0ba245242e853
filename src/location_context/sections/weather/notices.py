"""Notices: the words that each provider's licence asks to be shown."""

from __future__ import annotations

from location_context.sections.contract import Attribution

OPEN_METEO = Attribution(
    name="Open-Meteo",
    url="https://open-meteo.com/",
    license="CC BY 4.0",
    text="Weather data by Open-Meteo.com",
)
MET_NORWAY = Attribution(
    name="MET Norway",
    url="https://api.met.no/",
    license="CC BY 4.0",
    text="Data from MET Norway",
)
NASA_POWER = Attribution(
    name="NASA POWER",
    url="https://power.larc.nasa.gov/",
    license=None,
    text=(
        "These data were obtained from the NASA Langley Research Center (LaRC) POWER Project "
        "funded through the NASA Earth Science/Applied Science Program."
    ),
)
ITU = Attribution(
    name="ITU-R",
    url="https://www.itu.int/rec/R-REC-P.1510/en",
    license=None,
    text="Monthly means: Recommendations ITU-R P.1510-1 and P.837-7",
)
DEM = Attribution(
    name="Copernicus DEM",
    url="https://spacedata.copernicus.eu/collections/copernicus-digital-elevation-model",
    license=None,
    text=(
        "Elevation: produced using Copernicus WorldDEM-90 © DLR e.V. 2010-2014 and © Airbus "
        "Defence and Space GmbH 2014-2018 provided under COPERNICUS by the European Union and ESA; "
        "all rights reserved."
    ),
)


def copernicus(year: int) -> Attribution:
    """The notice for ERA5 and ERA5-Land, which names the year of use."""
    return Attribution(
        name="Copernicus Climate Change Service",
        url="https://doi.org/10.24381/cds.adbb2d47",
        license="CC BY 4.0",
        text=(
            f"Contains modified Copernicus Climate Change Service information {year}. Neither the "
            "European Commission nor ECMWF is responsible for any use of it."
        ),
    )
