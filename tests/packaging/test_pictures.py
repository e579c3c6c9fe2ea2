"""The pictures of the pages: as many and as large as a clone should carry, each shown somewhere, all made by one command."""

from __future__ import annotations

import re
from pathlib import Path

from tests.lab.pictures import PICTURES

ROOT = Path(__file__).parents[2]

IMAGES = ROOT / "docs" / "images"
PAGES = [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]


def test_pictures_are_few_and_small() -> None:
    """At most 12, 1.5 MB together."""
    sizes = [file.stat().st_size for file in IMAGES.iterdir()]
    assert 0 < len(sizes) <= 12
    assert sum(sizes) <= 1_500_000


def test_each_picture_is_made_by_the_command_and_shown_on_a_page() -> None:
    """`./run pictures` makes all of them, and no page shows another."""
    shown = {name for page in PAGES for name in re.findall(r"images/([\w.-]+\.png)", page.read_text(encoding="utf-8"))}
    assert {file.name for file in IMAGES.iterdir()} == shown == {f"{name}.png" for name in PICTURES}
