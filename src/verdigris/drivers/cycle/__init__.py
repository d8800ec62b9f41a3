"""`tdd cycle`: from a spec to evidence, stage by stage; the kernel decides when the next stage opens."""
