"""One model at one server: all that a call needs but the key, of which only the variable's name is kept."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from verdigris.core.value import value
from verdigris.models.secrets import shown_url


@value
class Endpoint:
    word: str
    """The model as the configuration names it."""
    model: str
    """The model as the server knows it."""
    base_url: str
    api_key_env: str = ""
    """The variable that holds the key; empty: the server wants none."""
    temperature: float | None = None
    timeout: float = 120.0
    """Seconds without a word from the server."""
    max_tokens: int | None = None

    @property
    def shown(self) -> str:
        return f"{self.model} at {shown_url(self.base_url)}"

    @property
    def local(self) -> bool:
        """Servers on this machine seldom want a key."""
        host = urlsplit(self.base_url).hostname or ""
        if host == "localhost" or host.endswith(".localhost"):
            return True
        try:
            return ip_address(host).is_loopback
        except ValueError:
            return False
