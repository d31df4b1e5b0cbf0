require "json"
require "jwt"
require "net/http"

# Verifies access tokens with jwt. One for each process.
class Verifier
  ALGORITHMS = %w[RS256 RS384 RS512 ES256 ES384 ES512].freeze

  def initialize(issuer: ENV.fetch("ISSUER"), audience: ENV.fetch("AUDIENCE"), max_age: ENV.fetch("CACHE_SECONDS", "300").to_i)
    @issuer = issuer
    @audience = audience
    @max_age = max_age
    @lock = Mutex.new
  end

  # The claims of a token that is good for this service. Raises JWT::DecodeError for any other.
  def verify(token)
    claims, header = JWT.decode(
      token, nil, true,
      jwks: ->(options) { key_set(unknown_key: options[:kid_not_found]) },
      algorithms: ALGORITHMS,
      iss: @issuer, verify_iss: true,
      aud: @audience, verify_aud: true,
      leeway: 5,
      required_claims: %w[exp iss aud sub]
    )
    # It does not look at `typ`.
    raise JWT::DecodeError, "not an access token" unless header["typ"] == "at+jwt"

    claims
  end

  private

  # Kept for as long as `max_age`, and for an unknown key fetched ten times in that time at most. jwt has no cache.
  def key_set(unknown_key:)
    @lock.synchronize do
      age = @fetched_at ? now - @fetched_at : Float::INFINITY
      if age >= @max_age || (unknown_key && age >= @max_age / 10.0)
        response = fetch(URI("#{@issuer}/.well-known/openid-configuration/jwks"))
        raise JWT::DecodeError, "no key set" unless response.is_a?(Net::HTTPOK)

        @keys = JSON.parse(response.body)
        @fetched_at = now
      end
      @keys
    end
  end

  def fetch(uri)
    Net::HTTP.start(uri.host, uri.port, use_ssl: uri.scheme == "https", open_timeout: 5, read_timeout: 5) do |http|
      http.get(uri.path)
    end
  end

  def now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
