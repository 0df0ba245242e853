"""The options of a notice that imported data must be shown with, and their checks."""

from typing import Annotated

import typer

from location_context.errors import OperatorError
from location_context.sections.addresses import web_address

_LONGEST = {"--attribution": 300, "--license": 100}  # characters, of a line in the footer

Attribution = Annotated[str, typer.Option(help="The attribution its licence requires.")]
AttributionUrl = Annotated[str | None, typer.Option(help="Address of the source.")]
License = Annotated[str | None, typer.Option("--license", help="Name of the licence.")]


def check_notice(attribution: str, url: str | None, license_: str | None) -> None:
    """Check the texts and the address of a notice.

    Raises:
        OperatorError: one of them cannot be shown.
    """
    for option, text in (("--attribution", attribution), ("--license", license_ or "")):
        longest = _LONGEST[option]
        if len(text) > longest or len(text.splitlines()) > 1 or min(text, default=" ") < " ":
            raise OperatorError(
                f"{option} is {text[:40]!r} with {len(text)} characters; "
                f"accepted: one line of at most {longest}"
            )
    if url is not None and web_address(url) is None:
        raise OperatorError(f"--attribution-url is {url!r}; accepted: http://… or https://…")
