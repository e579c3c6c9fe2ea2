"""Write the fixtures that vitest reads and pytest checks: sessions and messages as the kernel sends them, forms as pydantic emits them.

`python js/tests/make_fixtures.py` writes js/tests/fixtures/; `--check` compares instead and fails on a difference.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from answer_types import form_fixtures
from sessions import message_fixtures, session_fixtures
from texts import texts_fixtures

FIXTURES = Path(__file__).parent / "fixtures"


def fixtures() -> dict[str, str]:
    """Every fixture's text by its path below the fixtures' folder."""
    documents: dict[str, Any] = {}
    documents |= {f"sessions/{name}.json": document for name, document in session_fixtures().items()}
    documents |= {f"messages/{name}.json": document for name, document in message_fixtures().items()}
    documents |= {f"forms/{name}.json": document for name, document in form_fixtures().items()}
    documents |= {f"texts/{name}.json": document for name, document in texts_fixtures().items()}
    return {path: json.dumps(document, indent=1, ensure_ascii=False) + "\n" for path, document in documents.items()}


def differences() -> list[str]:
    """The paths whose committed text is not what the models give today."""
    given = fixtures()
    folders = ("sessions", "messages", "forms", "texts")
    present = {str(path.relative_to(FIXTURES)) for folder in folders for path in (FIXTURES / folder).glob("*.json")}
    changed = [path for path, text in given.items() if path in present and (FIXTURES / path).read_text(encoding="utf-8") != text]
    return sorted([*changed, *(present ^ given.keys())])


def main() -> None:
    if "--check" in sys.argv:
        changed = differences()
        if changed:
            sys.exit(f"js/tests/fixtures differs from what the models give: {', '.join(changed)}; run python js/tests/make_fixtures.py")
        return
    for path, text in fixtures().items():
        (FIXTURES / path).parent.mkdir(parents=True, exist_ok=True)
        (FIXTURES / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
