package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
)

// requireAccessToken refuses every other kind of JWT, for libraries that do not look at `typ`.
func requireAccessToken(token string) error {
	encoded, _, _ := strings.Cut(token, ".")
	decoded, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return err
	}
	var header struct {
		Type string `json:"typ"`
	}
	if err := json.Unmarshal(decoded, &header); err != nil {
		return err
	}
	if !strings.EqualFold(header.Type, "at+jwt") {
		return errors.New("not an access token")
	}
	return nil
}
