"""What a person watches or opens: live terminal views, lines of text, reports of audits."""
