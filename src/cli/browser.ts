/**
 * Opens an address in the browser of the user.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { platform } from 'node:os'
import type { Io } from './io.ts'

const SCHEMES = ['https:', 'http:']

/**
 * Starts the program that opens an address, and does not wait for it.
 *
 * Other users of the machine may see the address in the list of processes.
 *
 * @param url From a server: an address of another scheme could start any program that handles it, and is not opened.
 * @returns Whether there is such a program, and a screen.
 */
export async function openInBrowser(url: string, { env }: Pick<Io, 'env'>): Promise<boolean> {
  if (!URL.canParse(url) || !SCHEMES.includes(new URL(url).protocol)) return false
  const command = opener(env)
  if (command === undefined) return false
  const [program, ...args] = command
  const child = spawn(program, [...args, url], { env, stdio: 'ignore', detached: true })
  child.unref()
  return await once(child, 'spawn').then(
    () => true,
    () => false,
  )
}

function opener(env: Io['env']): readonly [string, ...string[]] | undefined {
  switch (platform()) {
    case 'darwin':
      return ['open']
    case 'win32':
      return ['rundll32', 'url.dll,FileProtocolHandler']
    default:
      return env.DISPLAY === undefined && env.WAYLAND_DISPLAY === undefined ? undefined : ['xdg-open']
  }
}
