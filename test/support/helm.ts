/**
 * Helm, and what it makes of the chart in `deploy/helm`. CONTRIBUTING.md says how to build it.
 */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { GO_PROGRAMS_ENV, missingGoPrograms } from './go-programs.ts'

const ROOT = join(import.meta.dirname, '../..')

/** The folder of the chart. */
export const CHART = join(ROOT, 'deploy/helm')

/** Values of the chart. */
export type Values = Readonly<Record<string, unknown>>

/** An object of Kubernetes. What is in it depends on its kind. */
export interface KubernetesObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> }
  // biome-ignore lint/suspicious/noExplicitAny: the tests compare parts of it with what they expect
  readonly [name: string]: any
}

/** Why there is no Helm; undefined if there is one. */
export const NO_HELM = missingGoPrograms('helm')

/** Runs Helm and returns what it prints. @throws {Error} with its message. */
export function helm(args: readonly string[], values: Values = {}): string {
  return execFileSync('helm', args, {
    env: GO_PROGRAMS_ENV,
    encoding: 'utf8',
    input: JSON.stringify(values),
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}

/** The YAML that the release `keyturn` consists of. */
export function renderChart(values: Values, kubernetesVersion = '1.37'): string {
  return helm(['template', 'keyturn', CHART, '--kube-version', kubernetesVersion, '--values', '-'], values)
}

/** The one object of a kind and a name. @throws {Error} if there is none, or several. */
export function objectOf(objects: readonly KubernetesObject[], kind: string, name = 'keyturn'): KubernetesObject {
  const [object, ...others] = objects.filter((candidate) => candidate.kind === kind && candidate.metadata.name === name)
  if (object === undefined || others.length > 0) throw new Error(`not one ${kind} has the name ${name}`)
  return object
}

/** The objects of a text in YAML. @throws {Error} if it is none. */
export function kubernetesObjects(yaml: string): KubernetesObject[] {
  return parseAllDocuments(yaml)
    .map((document) => {
      if (document.errors.length > 0) throw document.errors[0]
      return document.toJS() as KubernetesObject | null
    })
    .filter((object) => object !== null)
}
