"""`tdd demo`: a scripted agent meets the law in a made-up repository; each answer is the kernel's own."""

from __future__ import annotations
