"""Names the formats of an audit's report: each is a function from the report to a text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from verdigris.drivers.audit.report import render_report

if TYPE_CHECKING:
    from verdigris.drivers.audit.report import AuditReport

FORMATS = ("table", "json", "markdown", "junit", "github", "sarif", "html")


def render(report: AuditReport, format_: str) -> str:
    """Only what the format needs is imported."""
    match format_:
        case "table":
            from verdigris.views.audit.table import render_table

            return render_table(report)
        case "json":
            return json.dumps(render_report(report), indent=1) + "\n"
        case "markdown":
            from verdigris.views.audit.markdown import render_markdown

            return render_markdown(report)
        case "junit":
            from verdigris.views.audit.junit import render_junit

            return render_junit(report)
        case "github":
            from verdigris.views.audit.annotations import render_annotations

            return render_annotations(report)
        case "sarif":
            from verdigris.views.audit.sarif import render_sarif

            return render_sarif(report)
        case "html":
            from verdigris.views.audit.page import render_page

            return render_page(report)
        case _:
            raise ValueError(format_)
