/**
 * A person with a browser who signs in at the provider of `openid-provider-worker.ts`, and the provider.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** A running provider. */
export interface TestOpenIdProvider {
  readonly issuer: string
  stop(): Promise<void>
}

/** Starts it. */
export async function startOpenIdProvider(redirectUri: string, clientSecret: string): Promise<TestOpenIdProvider> {
  const worker = join(import.meta.dirname, 'openid-provider-worker.ts')
  const child: ChildProcess = spawn(process.execPath, [worker, redirectUri, clientSecret], {
    stdio: ['ignore', 'pipe', 'ignore', 'ipc'],
  })
  const [issuer] = (await once(createInterface(child.stdout!), 'line')) as [string]
  return {
    issuer,
    stop: async () => {
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    },
  }
}

/** A browser with cookies for each origin and path, which follows redirects by hand. */
export class PersonBrowser {
  readonly cookies = new Map<string, string>()

  /** Sends a request. @param form Makes it a POST. */
  async open(url: string, form?: Record<string, string>): Promise<Response> {
    const { origin } = new URL(url)
    const cookie = [...this.cookies]
      .filter(([key]) => key.startsWith(`${origin} `))
      .map(([key, value]) => `${key.slice(origin.length + 1)}=${value}`)
      .join('; ')
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie },
      ...(form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) }),
    })
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';', 1)
      const at = pair.indexOf('=')
      const key = `${origin} ${pair.slice(0, at)}`
      if (pair.length === at + 1) this.cookies.delete(key)
      else this.cookies.set(key, pair.slice(at + 1))
    }
    return response
  }

  /**
   * Follows redirects and fills in the forms of the provider, until it is sent back to the console.
   *
   * @param login The name, and groups behind a colon.
   * @returns The address to which the provider has sent it.
   */
  async signInAtProvider(authorizationUrl: string, login: string, until: string): Promise<string> {
    let url = authorizationUrl
    for (let steps = 0; steps < 12; steps += 1) {
      let response = await this.open(url)
      if (response.status === 200) {
        const page = await response.text()
        const action = /<form[^>]*action="([^"]+)"/.exec(page)?.[1] ?? ''
        const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1] ?? ''
        response = await this.open(
          new URL(action, url).href,
          prompt === 'login' ? { prompt, login, password: 'any' } : { prompt },
        )
      }
      const location = response.headers.get('location')
      if (location === null) throw new Error(`the provider answered ${response.status}: ${await response.text()}`)
      url = new URL(location, url).href
      if (url.startsWith(until)) return url
    }
    throw new Error('the provider sends the browser in circles')
  }
}
