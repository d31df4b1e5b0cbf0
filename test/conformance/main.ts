/**
 * `npm run test:conformance -- SUITE_URL`: runs the plans of the OpenID Foundation's conformance suite that fit an issuer of tokens for
 * machines, and prints what came of each module as in docs/conformance.md. Fails unless all is as it is there.
 */
import { type ClientChoice, type Instance, type Resource, startInstance } from './instance.ts'
import { type Finding, type Outcome, type PlanRequest, Suite } from './suite.ts'

/** A variant of the plan for FAPI 2.0, and what the clients call with their tokens. */
interface FapiRun extends ClientChoice {
  readonly resource: Resource
}

const FAPI_RUNS: readonly FapiRun[] = [
  { clientAuthType: 'private_key_jwt', senderConstrain: 'dpop', algorithm: 'PS256', resource: 'API' },
  { clientAuthType: 'private_key_jwt', senderConstrain: 'dpop', algorithm: 'ES256', resource: 'API' },
  { clientAuthType: 'private_key_jwt', senderConstrain: 'dpop', algorithm: 'EdDSA', resource: 'API' },
  { clientAuthType: 'private_key_jwt', senderConstrain: 'dpop', algorithm: 'PS256', resource: '@keyturn/verify' },
  { clientAuthType: 'mtls', senderConstrain: 'dpop', algorithm: 'PS256', resource: 'API' },
  { clientAuthType: 'private_key_jwt', senderConstrain: 'mtls', algorithm: 'PS256', resource: 'API' },
  { clientAuthType: 'mtls', senderConstrain: 'mtls', algorithm: 'PS256', resource: 'API' },
  { clientAuthType: 'mtls', senderConstrain: 'mtls', algorithm: 'PS256', resource: '@keyturn/verify' },
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

/** The plan for authorization servers. */
async function fapiPlan(
  { baseUrl, resources, addClients }: Instance,
  { resource, ...choice }: FapiRun,
): Promise<PlanRequest> {
  return {
    name: 'fapi2-security-profile-final-test-plan',
    variant: {
      fapi_profile: 'fapi_client_credentials_grant',
      openid: 'plain_oauth',
      client_auth_type: choice.clientAuthType,
      sender_constrain: choice.senderConstrain,
    },
    configuration: {
      description: [choice.clientAuthType, choice.senderConstrain, choice.algorithm, resource].join(', '),
      server: { discoveryUrl: `${baseUrl}/.well-known/oauth-authorization-server` },
      ...(await addClients(choice)),
      resource: { resourceUrl: resources[resource] },
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
