import os
import threading
import time

import requests
from jose import jwt

ISSUER = os.environ["ISSUER"]
AUDIENCE = os.environ["AUDIENCE"]
CACHE_SECONDS = int(os.environ.get("CACHE_SECONDS", "300"))


class RemoteKeySet:
    """python-jose does not fetch key sets."""

    def __init__(self):
        self._lock = threading.Lock()
        self._keys = {}
        self._fetched_at = float("-inf")

    def get(self, kid: str) -> dict:
        with self._lock:
            if time.monotonic() - self._fetched_at > CACHE_SECONDS:
                response = requests.get(f"{ISSUER}/.well-known/openid-configuration/jwks", timeout=5)
                response.raise_for_status()
                self._keys = {key["kid"]: key for key in response.json()["keys"]}
                self._fetched_at = time.monotonic()
            return self._keys[kid]


keys = RemoteKeySet()


def verify(token: str) -> dict:
    """The claims of a token that is good for this service. Raises for any other."""
    header = jwt.get_unverified_header(token)
    if header.get("typ") != "at+jwt":
        raise ValueError("not an access token")
    return jwt.decode(
        token,
        keys.get(header["kid"]),
        algorithms=["RS256", "RS384", "RS512", "ES256", "ES384", "ES512"],
        issuer=ISSUER,
        audience=AUDIENCE,
        options={"require_exp": True, "require_iss": True, "require_aud": True, "require_sub": True, "leeway": 5},
    )
