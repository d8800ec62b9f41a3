"""The commands of what moves turns on: the machine, the cycle of a spec, loops of programs."""
