import os
import threading
import time

import requests
from joserfc import jwt
from joserfc.jwk import KeySet

ISSUER = os.environ["ISSUER"]
AUDIENCE = os.environ["AUDIENCE"]
CACHE_SECONDS = int(os.environ.get("CACHE_SECONDS", "300"))

claims_registry = jwt.JWTClaimsRegistry(
    leeway=5,
    iss={"essential": True, "value": ISSUER},
    aud={"essential": True, "value": AUDIENCE},
    exp={"essential": True},
    sub={"essential": True},
)


class RemoteKeySet:
    """joserfc does not fetch key sets."""

    def __init__(self):
        self._lock = threading.Lock()
        self._keys = None
        self._fetched_at = 0.0

    def get(self) -> KeySet:
        with self._lock:
            if self._keys is None or time.monotonic() - self._fetched_at > CACHE_SECONDS:
                response = requests.get(f"{ISSUER}/.well-known/openid-configuration/jwks", timeout=5)
                response.raise_for_status()
                self._keys = KeySet.import_key_set(response.json())
                self._fetched_at = time.monotonic()
            return self._keys


keys = RemoteKeySet()


def verify(token: str) -> dict:
    """The claims of a token that is good for this service. Raises for any other."""
    decoded = jwt.decode(
        token,
        keys.get(),
        # Without a list, only some are allowed.
        algorithms=["RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "EdDSA"],
    )
    if decoded.header.get("typ") != "at+jwt":
        raise ValueError("not an access token")
    claims_registry.validate(decoded.claims)
    return decoded.claims
