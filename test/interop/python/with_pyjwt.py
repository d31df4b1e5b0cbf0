import os

import jwt

ISSUER = os.environ["ISSUER"]
AUDIENCE = os.environ["AUDIENCE"]
CACHE_SECONDS = int(os.environ.get("CACHE_SECONDS", "300"))

# Once per process. Leave `cache_keys` off: with it single keys are kept without a time limit.
keys = jwt.PyJWKClient(
    f"{ISSUER}/.well-known/openid-configuration/jwks",
    lifespan=CACHE_SECONDS,
    # From one fetch to the next for an unknown key. 30 s, which is the default, for 300 s.
    cooldown_duration=CACHE_SECONDS / 10,
)


def verify(token: str) -> dict:
    """The claims of a token that is good for this service. Raises jwt.PyJWTError for any other."""
    # It does not look at `typ`.
    if jwt.get_unverified_header(token).get("typ") != "at+jwt":
        raise jwt.InvalidTokenError("not an access token")
    return jwt.decode(
        token,
        keys.get_signing_key_from_jwt(token),
        algorithms=["RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "EdDSA"],
        issuer=ISSUER,
        audience=AUDIENCE,
        leeway=5,
        options={"require": ["exp", "iss", "aud", "sub"]},
    )
