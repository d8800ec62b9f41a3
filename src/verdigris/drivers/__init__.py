"""What moves turns on: machine, cycle, loop, session, audit, corpus, fleet and demo."""
