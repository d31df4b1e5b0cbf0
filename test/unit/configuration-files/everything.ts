/** Files with every kind of value that a configuration has. */
export const EVERYTHING = `
projects:
  - name: shop
    roles: [admin, reader]
    scopes: [orders.write]
    audiences: [https://api.shop.example]
    rolesClaim: true
---
serviceUsers:
  - project: shop
    name: checkout
    enabled: true
    clientCredentialsEnabled: false
    projectRoles:
      - { project: shop, roles: [admin] }
      - { project: stock, roles: [reader, writer] }
    scopes: [orders.write]
    instanceRoles: [INSTANCE_ROLE_IAM_OWNER]
    managedProjects:
      - { project: shop, role: PROJECT_MEMBER_ROLE_PROJECT_OWNER }
    publicKeys:
      - publicJwk: '{"kty":"OKP","crv":"Ed25519","x":"abc"}'
        expirationDate: 2031-01-31T00:00:00Z
    federatedIdentities:
      - issuer: https://token.actions.githubusercontent.com
        subject: repo:shop/checkout:ref:refs/heads/main
        claims: [{ pointer: /repository, value: shop/checkout }]
    clientCertificates:
      - match: { sanUri: spiffe://shop.example/checkout }
    tokenLifetime: 300s
    tokenClaims: '{"tenant":"a","level":3}'
    boundTokensRequired: true
    certificateBoundTokens: true
    generateSecret:
      into: file:///run/checkout.json
  - project: shop
    name: stock
---
service_users:
  - project: shop
    name: export
    token_lifetime: 60s
---
trustedIssuers:
  - issuer: https://token.actions.githubusercontent.com
    keys:
      discovery: {}
      caCertificates: |
        -----BEGIN CERTIFICATE-----
        -----END CERTIFICATE-----
      maxStalenessSeconds: 3600
    algorithms: [RS256]
    maxLifetimeSeconds: 600
  - issuer: spiffe://shop.example
    keys:
      jwks: '{"keys":[{"kty":"OKP","crv":"Ed25519","x":"abc"}]}'
rotationPolicy:
  enabled: false
  config: { ecdsa: { curve: ECDSA_CURVE_P256 } }
  rotationInterval: 2592000s
  keepStandby: false
`
