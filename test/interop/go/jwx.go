package main

import (
	"context"
	"os"
	"time"

	"github.com/lestrrat-go/httprc/v3"
	"github.com/lestrrat-go/jwx/v3/jwk"
	"github.com/lestrrat-go/jwx/v3/jwt"
)

// JWX verifies access tokens with lestrrat-go/jwx, which fetches the key set in the background.
func JWX(ctx context.Context) (func(context.Context, string) error, error) {
	address := os.Getenv("ISSUER") + "/.well-known/openid-configuration/jwks"
	cache, err := jwk.NewCache(ctx, httprc.NewClient())
	if err != nil {
		return nil, err
	}
	// Without it the key set is kept for 15 minutes at least, whatever `Cache-Control` says.
	if err := cache.Register(ctx, address, jwk.WithHttprcResourceOption(httprc.WithConstantInterval(cacheTime()))); err != nil {
		return nil, err
	}
	keys, err := cache.CachedSet(address)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, token string) error {
		// It does not look at `typ`.
		if err := requireAccessToken(token); err != nil {
			return err
		}
		_, err := jwt.ParseString(
			token,
			jwt.WithKeySet(keys),
			jwt.WithIssuer(os.Getenv("ISSUER")),
			jwt.WithAudience(os.Getenv("AUDIENCE")),
			jwt.WithRequiredClaim("exp"),
			jwt.WithAcceptableSkew(5*time.Second),
		)
		return err
	}, nil
}
