/**
 * A Secret of Kubernetes, made by kubectl as the user who runs the command. Its keys are `client_id` and `client_secret`.
 */
import type { Io } from '../../io.ts'
import { runProgram } from './run-program.ts'
import type { SecretTarget } from './secret-target.ts'

/** @param reference `namespace/name`. */
export function kubernetesTarget({ env }: Pick<Io, 'env'>, reference: string): SecretTarget {
  const [namespace = '', name = ''] = reference.split('/')
  return {
    async look() {
      const args = ['get', 'secret', name, '--namespace', namespace, '--ignore-not-found', '--output', 'name']
      return (await runProgram(['kubectl', ...args], { env })).trim() === '' ? 'empty' : 'taken'
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
      await runProgram(['kubectl', 'create', '--filename', '-'], {
        env,
        input: JSON.stringify(manifest),
        redact: [client_secret, base64(client_secret)],
      })
    },
  }
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
