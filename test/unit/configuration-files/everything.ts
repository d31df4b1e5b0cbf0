/** A configuration with every field that files have, but not every variant of keys and certificates. */
export const EVERYTHING = `kind: Project
name: shop
roles: [admin, reader]
scopes: [orders.write]
audiences: [https://api.shop.example]
rolesClaim: true
---
kind: ServiceUser
project: shop
name: checkout
enabled: false
clientCredentialsEnabled: false
projectRoles: { shop: [admin], stock: [reader, writer] }
scopes: [orders.write]
instanceRoles: [IAM_OWNER]
managedProjects: { shop: PROJECT_OWNER, stock: PROJECT_OWNER_VIEWER }
publicKeys:
  - kty: OKP
    crv: Ed25519
    x: abc
    kid: first
    expirationDate: 2031-01-31T00:00:00Z
federatedIdentities:
  - issuer: https://token.actions.githubusercontent.com
    subject: repo:shop/checkout:ref:refs/heads/main
    audience: https://tokens.example.com
    claims: { /repository: shop/checkout }
clientCertificates:
  - sanUri: spiffe://shop.example/checkout
    expirationDate: 2031-01-31T00:00:00Z
tokenLifetime: 5m
tokenClaims: { tenant: a, level: 3 }
boundTokensRequired: true
certificateBoundTokens: true
generateSecret:
  into: kubernetes://shop/checkout-client
---
kind: TrustedIssuer
issuer: https://token.actions.githubusercontent.com
keys:
  discovery: {}
  caCertificates: |
    -----BEGIN CERTIFICATE-----
    -----END CERTIFICATE-----
  maxStalenessSeconds: 3600
algorithms: [RS256]
maxLifetimeSeconds: 600
---
kind: TrustedIssuer
issuer: spiffe://shop.example
keys:
  jwks: { keys: [{ kty: OKP, crv: Ed25519, x: abc }] }
---
kind: RotationPolicy
enabled: false
config: { ecdsa: { curve: ECDSA_CURVE_P256 } }
rotationInterval: 30d
publishAhead: 12h
retention: 7d
rollbackWindow: 1d
keepStandby: false
`
