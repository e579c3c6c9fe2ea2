"""What the front door hands down to the rooms, so that none of them has to import upwards.

`load_front_end` imports the room that draws in a notebook; that room registers itself with `review`. It is called when a
person may be there and not before, so that importing the package loads no front end (D19).
"""

from __future__ import annotations

from collections.abc import Callable

load_front_end: Callable[[], object] | None = None
