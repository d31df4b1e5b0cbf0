package main

import (
	"context"
	"os"

	"github.com/coreos/go-oidc/v3/oidc"
)

// GoOIDC verifies access tokens with go-oidc. It discovers the address of the key set, and the algorithms, once.
func GoOIDC(ctx context.Context) (func(context.Context, string) error, error) {
	provider, err := oidc.NewProvider(ctx, os.Getenv("ISSUER"))
	if err != nil {
		return nil, err
	}
	verifier := provider.Verifier(&oidc.Config{ClientID: os.Getenv("AUDIENCE")})
	return func(ctx context.Context, token string) error {
		// It does not look at `typ`.
		if err := requireAccessToken(token); err != nil {
			return err
		}
		_, err := verifier.Verify(ctx, token)
		return err
	}, nil
}
