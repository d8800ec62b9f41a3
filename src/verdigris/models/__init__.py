"""Language models behind an endpoint or a recording, and the conversation with a role."""
