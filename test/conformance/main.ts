/**
 * `npm run test:conformance -- SUITE_URL`: runs the plans of the OpenID Foundation's conformance suite that fit an issuer of tokens for
 * machines, and prints what came of each module as in docs/conformance.md. Fails unless all is as it is there.
 */
import { type Algorithm, type Instance, startInstance } from './instance.ts'
import { type Finding, type Outcome, type PlanRequest, Suite } from './suite.ts'

/** A variant of the plan for FAPI 2.0, by the names of the suite, and the algorithm of the clients' keys. */
interface FapiRun {
  readonly clientAuthType: 'private_key_jwt'
  readonly senderConstrain: 'dpop'
  readonly algorithm: Algorithm
}

const FAPI_RUNS: readonly FapiRun[] = [
  { clientAuthType: 'private_key_jwt', senderConstrain: 'dpop', algorithm: 'PS256' },
  { clientAuthType: 'private_key_jwt', senderConstrain: 'dpop', algorithm: 'ES256' },
  { clientAuthType: 'private_key_jwt', senderConstrain: 'dpop', algorithm: 'EdDSA' },
]

/** What the suite finds missing because Keyturn has no end users, and so no authorization endpoint, claims or user info. */
const KNOWN_FINDINGS: readonly string[] = [
  'OIDCCCheckDiscEndpointResponseTypesSupported',
  'CheckDiscEndpointUserinfoEndpoint',
  'OIDCCCheckDiscEndpointClaimsSupported',
]

const [url] = process.argv.slice(2)
if (url === undefined) throw new Error('usage: npm run test:conformance -- SUITE_URL')
const suite = new Suite(url)
const instance = await startInstance()
try {
  const outcomes: Outcome[] = []
  for (const choice of FAPI_RUNS) outcomes.push(...(await run(await fapiPlan(instance, choice))))
  outcomes.push(...(await run(discoveryPlan(instance))))
  process.exitCode = outcomes.every(isKnown) ? 0 : 1
} finally {
  await instance.stop()
}

/** The plan for authorization servers. The protected resource is a method of Keyturn's API that only reads, called by GET. */
async function fapiPlan(
  { baseUrl, addClient }: Instance,
  { clientAuthType, senderConstrain, algorithm }: FapiRun,
): Promise<PlanRequest> {
  return {
    name: 'fapi2-security-profile-final-test-plan',
    variant: {
      fapi_profile: 'fapi_client_credentials_grant',
      openid: 'plain_oauth',
      client_auth_type: clientAuthType,
      sender_constrain: senderConstrain,
    },
    configuration: {
      description: `${clientAuthType}, ${senderConstrain}, ${algorithm}`,
      server: { discoveryUrl: `${baseUrl}/.well-known/oauth-authorization-server` },
      client: await addClient(algorithm),
      client2: await addClient(algorithm),
      resource: {
        resourceUrl: `${baseUrl}/iam.webkey.v2.WebKeyService/ListWebKeys?connect=v1&encoding=json&base64=1&message=e30`,
      },
    },
  }
}

/** The plan for the discovery document of OpenID Providers. */
function discoveryPlan({ baseUrl }: Instance): PlanRequest {
  return {
    name: 'oidcc-config-certification-test-plan',
    variant: {},
    configuration: {
      description: 'discovery',
      server: { discoveryUrl: `${baseUrl}/.well-known/openid-configuration` },
    },
  }
}

async function run(plan: PlanRequest): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = []
  write(`\n${plan.name}: ${plan.configuration.description}\n\n| module | result |\n|---|---|`)
  for await (const outcome of suite.run(plan)) {
    outcomes.push(outcome)
    write(`| ${outcome.module} | ${[outcome.result, ...outcome.findings.map(textOf)].join('<br>')} |`)
  }
  return outcomes
}

function isKnown({ result, findings }: Outcome): boolean {
  if (findings.length > 0) return findings.every(({ condition }) => KNOWN_FINDINGS.includes(condition))
  return result === 'PASSED' || result === 'SKIPPED'
}

function textOf({ result, condition, message, requirements }: Finding): string {
  return `${result} of ${condition}: ${message} (${requirements.join(', ')})`
}

function write(line: string): void {
  process.stdout.write(`${line}\n`)
}
