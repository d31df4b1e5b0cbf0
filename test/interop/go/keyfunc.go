package main

import (
	"context"
	"os"
	"time"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/time/rate"
)

// Keyfunc verifies access tokens with golang-jwt, and keeps the key set with keyfunc.
func Keyfunc(ctx context.Context) (func(context.Context, string) error, error) {
	maxAge := cacheTime()
	keys, err := keyfunc.NewDefaultOverrideCtx(ctx, []string{os.Getenv("ISSUER") + "/.well-known/openid-configuration/jwks"}, keyfunc.Override{
		// Without it the key set is kept for an hour.
		RefreshInterval: maxAge,
		// For an unknown key it fetches at most ten times in the cache time, and does not wait for its turn. Without these it
		// fetches every 5 minutes, and a request waits for up to a minute.
		RefreshUnknownKID: rate.NewLimiter(rate.Every(maxAge/10), 1),
		RateLimitWaitMax:  time.Millisecond,
	})
	if err != nil {
		return nil, err
	}
	parser := jwt.NewParser(
		jwt.WithValidMethods([]string{"RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "EdDSA"}),
		jwt.WithIssuer(os.Getenv("ISSUER")),
		jwt.WithAudience(os.Getenv("AUDIENCE")),
		jwt.WithExpirationRequired(),
		jwt.WithLeeway(5*time.Second),
	)
	return func(ctx context.Context, token string) error {
		// It does not look at `typ`.
		if err := requireAccessToken(token); err != nil {
			return err
		}
		_, err := parser.Parse(token, keys.KeyfuncCtx(ctx))
		return err
	}, nil
}
