package main

import (
	"os"
	"strconv"
	"time"
)

// cacheTime is KEYTURN_JWKS_MAX_AGE.
func cacheTime() time.Duration {
	seconds, err := strconv.Atoi(os.Getenv("CACHE_SECONDS"))
	if err != nil {
		return 5 * time.Minute
	}
	return time.Duration(seconds) * time.Second
}
