/**
 * Headers that are sent with the first line of an answer.
 */
import type { ServerResponse } from 'node:http'

/** The flat form of `writeHead`: a name, its value, the next name. */
export type Head = readonly string[]

/** Sets headers that are sent with whatever answer comes. */
export function setHead(res: ServerResponse, head: Head): void {
  for (let i = 0; i < head.length; i += 2) res.setHeader(head[i] as string, head[i + 1] as string)
}
