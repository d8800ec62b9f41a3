from __future__ import annotations

import pytest

from support.doc_tables import DOCS, TABLES, renewed

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("page", TABLES)
def test_a_table_that_is_made_from_the_code_is_up_to_date(page: str) -> None:
    assert (DOCS / page).read_text("utf-8") == renewed(page), "run `make docs`"
