"""pandas, where somebody asks for a DataFrame. It is no dependency, and nothing else imports it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..errors import ConfigError


def pandas_for_a_frame() -> Any:
    """The module. Raises: ConfigError saying how to install it where it is missing."""
    try:
        return import_module("pandas")
    except ImportError as error:
        problem = "pandas is not installed, and a DataFrame is its own: pip install pandas; to_records() gives the same rows without it"
        raise ConfigError(field="to_dataframe", problems=[problem]) from error
