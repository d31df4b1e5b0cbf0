import os
import threading
import time

import requests
from authlib.oauth2.rfc9068 import JWTBearerTokenValidator

ISSUER = os.environ["ISSUER"]
AUDIENCE = os.environ["AUDIENCE"]
CACHE_SECONDS = int(os.environ.get("CACHE_SECONDS", "300"))


class Validator(JWTBearerTokenValidator):
    """For `ResourceProtector.register_token_validator`. The cache is ours: Authlib has none."""

    def __init__(self):
        super().__init__(issuer=ISSUER, resource_server=AUDIENCE)
        self._lock = threading.Lock()
        self._keys = None
        self._fetched_at = 0.0

    def get_jwks(self):
        with self._lock:
            if self._keys is None or time.monotonic() - self._fetched_at > CACHE_SECONDS:
                response = requests.get(f"{ISSUER}/.well-known/openid-configuration/jwks", timeout=5)
                response.raise_for_status()
                self._keys = response.json()
                self._fetched_at = time.monotonic()
            return self._keys


validator = Validator()


def verify(token: str) -> dict:
    """The claims of a token that is good for this service. Raises for any other."""
    claims = validator.authenticate_token(token)
    validator.validate_token(claims, scopes=None, request=None)
    return claims
