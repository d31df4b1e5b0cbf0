use std::env;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;

type Error = Box<dyn std::error::Error + Send + Sync>;

#[derive(Debug, Deserialize)]
pub struct Claims {
    pub sub: String,
    pub client_id: String,
    pub scope: Option<String>,
}

/// The key set, which jsonwebtoken does not fetch by itself.
struct Copy {
    keys: JwkSet,
    fetched_at: Instant,
}

pub struct Verifier {
    issuer: String,
    audience: String,
    max_age: Duration,
    copy: Mutex<Option<Copy>>,
}

impl Verifier {
    pub fn from_env() -> Result<Self, Error> {
        let seconds = env::var("CACHE_SECONDS").unwrap_or("300".into()).parse()?;
        Ok(Self {
            issuer: env::var("ISSUER")?,
            audience: env::var("AUDIENCE")?,
            max_age: Duration::from_secs(seconds),
            copy: Mutex::new(None),
        })
    }

    /// The claims of a token that is good for this service.
    pub fn verify(&self, token: &str) -> Result<Claims, Error> {
        let header = decode_header(token)?;
        if header.typ.as_deref() != Some("at+jwt") {
            return Err("not an access token".into());
        }
        let (key, algorithm) = self.key(&header.kid.ok_or("no kid")?)?;
        let mut validation = Validation::new(algorithm);
        validation.set_issuer(&[&self.issuer]);
        validation.set_audience(&[&self.audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        validation.leeway = 5;
        Ok(decode::<Claims>(token, &key, &validation)?.claims)
    }

    /// A key, and the one algorithm that it is for, which is never taken from the token.
    fn key(&self, kid: &str) -> Result<(DecodingKey, Algorithm), Error> {
        let mut copy = self.copy.lock().map_err(|_| "poisoned")?;
        let is_usable = copy.as_ref().is_some_and(|copy| {
            let age = copy.fetched_at.elapsed();
            // For an unknown key it is fetched ten times in the cache time at most.
            age < self.max_age && (copy.keys.find(kid).is_some() || age < self.max_age / 10)
        });
        if !is_usable {
            let address = format!("{}/.well-known/openid-configuration/jwks", self.issuer);
            let request = ureq::get(&address).config().timeout_global(Some(Duration::from_secs(5))).build();
            let keys = request.call()?.body_mut().read_json()?;
            *copy = Some(Copy { keys, fetched_at: Instant::now() });
        }
        let jwk = copy.as_ref().and_then(|copy| copy.keys.find(kid)).ok_or("unknown key")?;
        let algorithm = jwk.common.key_algorithm.ok_or("a key without alg")?;
        Ok((DecodingKey::from_jwk(jwk)?, algorithm.try_into()?))
    }
}
