"""`python -m medagentgym.synthetic`: write made-up patients and questions into an empty folder."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from medagentgym.config import SyntheticConfig
from medagentgym.errors import UserError, exit_with
from medagentgym.synthetic import eicu, generate

_SHAPES = {"mimic_iii": generate, "eicu": eicu.generate}


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line and write the data. Exits with status 2 and one line where something is wrong with what was asked."""
    parser = argparse.ArgumentParser(
        prog="python -m medagentgym.synthetic", description="Write made-up patients in the shape of raw MIMIC-III or eICU."
    )
    defaults = SyntheticConfig()
    for name, field in SyntheticConfig.model_fields.items():
        parser.add_argument(f"--{name}", type=int, default=getattr(defaults, name), help=f"{field.description} Default: %(default)s.")
    parser.add_argument("--shape", choices=sorted(_SHAPES), default="mimic_iii", help="Whose raw tables they are. Default: %(default)s.")
    parser.add_argument("folder", type=Path, help="Empty or new folder.")
    options = vars(parser.parse_args(arguments))
    folder: Path = options.pop("folder")
    make = _SHAPES[options.pop("shape")]
    try:
        try:
            config = SyntheticConfig(**options)
        except ValidationError as error:
            first = error.errors()[0]
            raise UserError(f"--{first['loc'][0]}: {first['msg']}, not {first['input']}") from error
        if folder.exists() and not folder.is_dir():
            raise UserError(f"{folder}: not a folder; give an empty or a new one")
        if folder.is_dir() and any(folder.iterdir()):
            raise UserError(f"{folder}: not empty; give an empty or a new folder")
        try:
            make(config, folder)
        except OSError as error:
            raise UserError(f"{folder}: cannot be written ({error.strerror}); give another folder") from error
    except UserError as error:
        exit_with(error)
    print(f"{folder}: {config.patients} patients, {config.train} training and {config.test} test questions")


if __name__ == "__main__":
    main()
