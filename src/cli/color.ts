/**
 * Colours, on terminals only. `NO_COLOR` (no-color.org) and `TERM=dumb` switch them off.
 */
import type { Io } from './io.ts'

/** Paints a text, or leaves it as it is. */
export type Paint = (text: string) => string

/** Select Graphic Rendition (ECMA-48 §8.3.117): how each begins, and how it ends. */
const STYLES = { bold: [1, 22], red: [31, 39], green: [32, 39], yellow: [33, 39] } as const

/** Whether a stream shows colours. */
export function showsColors({ env, terminals }: Pick<Io, 'env' | 'terminals'>, stream: 'stdout' | 'stderr'): boolean {
  return terminals?.[stream] === true && !env.NO_COLOR && env.TERM !== 'dumb'
}

/** What paints text for a stream. */
export function painter(
  io: Pick<Io, 'env' | 'terminals'>,
  stream: 'stdout' | 'stderr',
  style: keyof typeof STYLES,
): Paint {
  if (!showsColors(io, stream)) return (text) => text
  const [begin, end] = STYLES[style]
  return (text) => `\u001b[${begin}m${text}\u001b[${end}m`
}
