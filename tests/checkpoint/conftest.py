"""The contract's asserts explain themselves like those of a test file."""

import pytest

pytest.register_assert_rewrite("llm4s_notebook.testing._contract", "llm4s_notebook.testing._checkpointer_machine")
