"""Which files a model may be shown: no secrets at all, and of some only the name."""

from __future__ import annotations

import re

HUGE = 100_000
"""Characters from which on a file is listed only."""

_SECRET = re.compile(
    r"""(?ix)
    (?:.*/)?(?:
        \.env (?:\.(?!(?:example|sample|template|dist|defaults?)\Z)[^/]*)?
      | \.envrc | \.netrc | _netrc | \.npmrc | \.pypirc | \.pgpass | \.htpasswd | \.git-credentials
      | \.docker/config\.json | \.kube/config | \.cargo/credentials(?:\.toml)?
      | \.(?:ssh|aws|azure|gnupg|gcloud)/.*
      | id_(?:rsa|dsa|ecdsa|ed25519)
      | (?:credentials?|secrets?|service[-_]account[^/]*)(?:\.(?:json|ya?ml|toml|ini|txt|env|cfg|conf))?
      | [^/]*\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk)
    )""",
)

_UNTOLD = re.compile(
    r"""(?x)
    (?:.*/)?(?:
        (?:package-lock|npm-shrinkwrap)\.json | pnpm-lock\.yaml | yarn\.lock | bun\.lockb?
      | Cargo\.lock | poetry\.lock | uv\.lock | Pipfile\.lock | pdm\.lock | go\.sum
      | composer\.lock | Gemfile\.lock
      | [^/]*\.(?:min\.(?:js|css)|map|svg|snap)
      | LICEN[CS]E(?:\.[a-z]+)? | COPYING
      | (?:node_modules|target|dist|build|\.venv|venv|__pycache__)/.*
    )"""
)
"""Made by tools, or the same everywhere: listed, and told only when asked for."""


def secret(path: str) -> bool:
    """By name; such a file is neither told, nor listed, nor searched, nor written."""
    return _SECRET.fullmatch(path) is not None


def worth_telling(path: str, text: str | None) -> bool:
    return text is not None and len(text) <= HUGE and _UNTOLD.fullmatch(path) is None


def as_text(data: bytes) -> str | None:
    """None for what is no text: a model can neither read it nor give it back."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
