"""A program's state file after edits of people and runs."""

from __future__ import annotations

FILE = """\
# Autoloop: port

A line that somebody wrote.

## ⚙️ Machine State

| Field | Value |
|-------|-------|
| Last Run | 2026-05-17T04:00:00Z |
| Iteration Count | 12 |
| Best Metric | 31 |
| Steering Issue | #12 |
| Paused | false |
| Recent Statuses | accepted, pending-ci, accepted |

## 📋 Program Info

**Goal**: port it.

## ✅ Test Harness

> Kept by `tdd loop`: one entry for each pinned behaviour, the newest first.

### sorts NaN last  ·  gen 12

- **Status**: ❌ failing
- **Target**: src/sort.ts:10
- **Spec source**: https://example.org/sort
- **Added iteration**: 12
- **Owner**: Ada

---

### sorts numbers  ·  gen 11

- **Status**: ✅ passing
- **Target**: src/sort.ts:4
- **Spec source**: issue 3
- **Added iteration**: 11
- **Made green iteration**: 11

---

### Tests 1–9 — ✅ passing (9 batch additions for dates): dates

## 🧪 Ideas of ours

keep me
"""
