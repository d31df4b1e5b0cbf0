/**
 * Values in a text: a moment, short and exact in its tooltip, and an identifier that can be copied.
 */
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { useState } from 'preact/hooks'
import { formatDistance, formatExactly, formatMoment, millisecondsOf, shortened } from '../format/text.ts'
import { now } from '../live/instance.ts'
import { IconButton } from './buttons.tsx'

interface WhenProps {
  /** A number is in milliseconds. */
  readonly at: Timestamp | number | undefined
  /** What is said without a moment. */
  readonly otherwise?: string
}

/** For example `3 Nov`. */
export function When(props: WhenProps) {
  return <Moment {...props} format={formatMoment} />
}

/** For example `in 3 d`. */
export function Distance(props: WhenProps) {
  return <Moment {...props} format={formatDistance} />
}

/** In another format. */
export function Moment({ at, otherwise = '–', format }: WhenProps & { readonly format: typeof formatMoment }) {
  const moment = typeof at === 'number' ? at : millisecondsOf(at)
  if (moment === undefined) return <>{otherwise}</>
  return (
    <time dateTime={new Date(moment).toISOString()} title={formatExactly(moment)}>
      {format(moment, now.value)}
    </time>
  )
}

interface CopyButtonProps {
  readonly text: string
  /** What it is, for a screen reader. */
  readonly what: string
}

export function CopyButton({ text, what }: CopyButtonProps) {
  const [state, setState] = useState<'failed' | 'copied'>()
  const isCopied = state === 'copied'
  const copy = async () => {
    try {
      // Browsers offer it on https and on the own machine only, and may refuse it.
      await navigator.clipboard.writeText(text)
    } catch {
      setState('failed')
      return
    }
    setState('copied')
  }
  return (
    <>
      <IconButton
        name={isCopied ? 'check' : 'copy'}
        label={isCopied ? `Copied ${what}` : `Copy ${what}`}
        title={isCopied ? 'Copied' : 'Copy'}
        onClick={() => void copy()}
        onBlur={() => setState(undefined)}
      />
      {state === 'failed' && (
        <span role="alert" class="quiet">
          not copied: select it, and copy it by hand
        </span>
      )}
    </>
  )
}

interface CopyableProps extends CopyButtonProps {
  /** Default: the text. */
  readonly shown?: string
}

/** An identifier with a button that copies it. */
export function Copyable({ text, shown = text, what }: CopyableProps) {
  return (
    <span class="copyable">
      <code title={text}>{shown}</code>
      <CopyButton text={text} what={what} />
    </span>
  )
}

/** One that is too long to be read, by its beginning. */
export function Id({ id, what }: { readonly id: string; readonly what: string }) {
  return <Copyable text={id} shown={shortened(id)} what={what} />
}
