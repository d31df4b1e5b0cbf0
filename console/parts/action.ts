/**
 * A change that a person makes: it runs once at a time, and says why it was refused.
 */
import { useState } from 'preact/hooks'
import { type Failure, failureOf } from '../api/failure.ts'
import { reload } from '../live/loaded.ts'

/** A change. */
export interface Action<Arguments extends readonly unknown[]> {
  run(...given: Arguments): Promise<void>
  readonly isRunning: boolean
  readonly failure: Failure | undefined
}

/** Makes a change; afterwards, what is shown is loaded again. */
export function useAction<Arguments extends readonly unknown[]>(
  change: (...given: Arguments) => Promise<void>,
): Action<Arguments> {
  const [state, setState] = useState<{ isRunning: boolean; failure: Failure | undefined }>(IDLE)
  const run = async (...given: Arguments) => {
    if (state.isRunning) return
    setState({ isRunning: true, failure: undefined })
    try {
      await change(...given)
      setState(IDLE)
    } catch (error) {
      setState({ isRunning: false, failure: failureOf(error) })
    } finally {
      reload()
    }
  }
  return { run, ...state }
}

const IDLE = { isRunning: false, failure: undefined }

/** For `onSubmit` of a form that makes the change. */
export function submitting({ run }: Action<[]>): (event: Event) => void {
  return (event) => {
    event.preventDefault()
    void run()
  }
}
