import { hash } from 'node:crypto'

/** The SHA-256 of a text in base64url. */
export function digest(text: string): string {
  return hash('sha256', text, 'base64url')
}
