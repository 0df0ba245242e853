"""Attributions: the words that each provider's licence asks to be shown."""

from datetime import date

import msgspec

from location_context.sections.contract import CC_BY, Attribution

OPEN_METEO = Attribution(
    name="Open-Meteo",
    url="https://open-meteo.com/",
    license=CC_BY.name,
    text="Weather data by Open-Meteo.com",
    adapted=True,  # brought to the point's height; means and spreads of ten years
)
MET_NORWAY = Attribution(
    name="MET Norway",
    url="https://api.met.no/",
    license=CC_BY.name,
    text="Data from MET Norway",
    adapted=True,  # steps gathered into local days, brought to the point's height
)
NASA_POWER = Attribution(
    name="NASA POWER",
    url="https://power.larc.nasa.gov/",
    license=None,
    text=(
        "The data was obtained from the National Aeronautics and Space Administration (NASA) "
        "Langley Research Center (LaRC) Prediction of Worldwide Energy Resource (POWER) Project "
        "funded through the NASA Earth Science/Applied Science Program."
    ),
    adapted=True,  # means and spreads of ten years
)
ITU = Attribution(
    name="ITU-R",
    url="https://www.itu.int/rec/R-REC-P.1510/en",
    license=None,
    text="Monthly means: Recommendations ITU-R P.1510-1 and P.837-7",
    adapted=True,  # interpolated in place and season
)
DEM = Attribution(
    name="Copernicus DEM",
    url="https://spacedata.copernicus.eu/collections/copernicus-digital-elevation-model",
    license=None,
    text=(
        "Elevation: Copernicus DEM, produced using Copernicus WorldDEM-90 © DLR e.V. 2010-2014 and "
        "© Airbus Defence and Space GmbH 2014-2018 provided under COPERNICUS by the European Union "
        "and ESA; all rights reserved."
    ),
)


def nasa_power(accessed: date, version: str = "2.x.x") -> Attribution:
    """Its two reference sentences; the second names the service, its version and the date."""
    service = f"The data was obtained from the POWER Project's Daily {version} version on "
    text = f"{NASA_POWER.text} {service}{accessed:%Y/%m/%d}."
    return msgspec.structs.replace(NASA_POWER, text=text)


def copernicus(year: int) -> Attribution:
    """The notice for ERA5 and ERA5-Land, which names the year of use."""
    return Attribution(
        name="Copernicus Climate Change Service",
        url="https://doi.org/10.24381/cds.adbb2d47",
        license=CC_BY.name,
        adapted=True,
        text=(
            f"Contains modified Copernicus Climate Change Service information {year}. Neither the "
            "European Commission nor ECMWF is responsible for any use of it."
        ),
    )
