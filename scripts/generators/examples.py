"""Make the examples of the OpenAPI document from real answers over stand-ins."""

import tempfile
from pathlib import Path

from tests.web.examples import encoded, file_of, made


def files() -> dict[Path, str]:
    with tempfile.TemporaryDirectory() as folder:
        return {file_of(name): encoded(content) for name, content in made(Path(folder)).items()}
