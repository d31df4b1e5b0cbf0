/**
 * A Secret of Kubernetes, made by kubectl as the user who runs the command. Its keys are `client_id` and `client_secret`.
 */
import type { Io } from '../../io.ts'
import { ProgramFailure, runProgram } from './run-program.ts'
import type { SecretTarget } from './secret-target.ts'

/** @param reference `namespace/name`. */
export function kubernetesTarget({ env }: Pick<Io, 'env'>, reference: string): SecretTarget {
  const [namespace = '', name = ''] = reference.split('/')
  const kubectl = (args: readonly string[], options: Parameters<typeof runProgram>[1]) =>
    runProgram(['kubectl', ...args], options).catch((error: unknown) => {
      throw error instanceof ProgramFailure ? explained(error, namespace) : error
    })
  return {
    async look() {
      const args = ['get', 'secret', name, '--namespace', namespace, '--ignore-not-found', '--output', 'name']
      return (await kubectl(args, { env })).trim() === '' ? 'empty' : 'taken'
    },
    async handOver({ client_id, client_secret }) {
      const manifest = {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name, namespace, labels: { 'app.kubernetes.io/managed-by': 'keyturn' } },
        type: 'Opaque',
        data: { client_id: base64(client_id), client_secret: base64(client_secret) },
      }
      // Not `kubectl apply`: that replaces another Secret, and keeps a copy of the manifest in an annotation.
      await kubectl(['create', '--filename', '-'], {
        env,
        input: JSON.stringify(manifest),
        redact: [client_secret, base64(client_secret)],
      })
    },
    cleanUp: async () => {},
  }
}

/** The lines of its client library, which come before the error, and say less. */
const KLOG = /^[EWI]\d{4} \d\d:\d\d:\d\d/

/** What to do about errors of kubectl and of the API server. */
const ADVICE: readonly (readonly [RegExp, (namespace: string) => string])[] = [
  [/^cannot run kubectl: ENOENT/, () => 'it has to be installed where this command runs, and on its PATH'],
  [/\(Forbidden\)/, (namespace) => `its user needs the verbs get and create for secrets in the namespace ${namespace}`],
  [/namespaces "[^"]*" not found/, (namespace) => `make the namespace first: kubectl create namespace ${namespace}`],
  [/\(Unauthorized\)/, () => 'log it in to the cluster, or give it another context'],
  [/connection to the server|Unable to connect/, () => 'check its context: kubectl config current-context'],
]

/** A failure of kubectl, with what to do about it if that is known. */
function explained({ end, lines }: ProgramFailure, namespace: string): Error {
  const said = lines.filter((line) => !KLOG.test(line))
  const { message } = new ProgramFailure(end, said.length === 0 ? lines : said)
  const advice = ADVICE.find(([pattern]) => pattern.test(message))?.[1](namespace)
  return new Error(advice === undefined ? message : `${message}; ${advice}`)
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
