/**
 * What pages are made of: their dialog, headings, sections, facts, notices, and a mistake in place of a page.
 */
import { type ComponentChildren, type ComponentProps, createContext } from 'preact'
import { useContext, useEffect, useErrorBoundary, useId, useState } from 'preact/hooks'
import type { Failure } from '../api/failure.ts'
import { IconButton } from './buttons.tsx'
import { Distance } from './values.tsx'

/** What a page has besides its content. */
interface PageState {
  /** What the last change has done. Empty: nothing is said. */
  readonly outcome: string
  say(outcome: string): void
  /** Opens a dialog. It stays as long as the page, whatever becomes of what has opened it: it may show a secret, or have what was entered. */
  open(dialog: ComponentChildren): void
  /** Closes the dialog. */
  close(): void
}

const PageContext = createContext({} as PageState)

/** The page around a component. */
export function usePage(): PageState {
  return useContext(PageContext)
}

/** A page. Give it a key that stands for what is shown, so that another page begins anew. */
export function Page({ children }: { readonly children: ComponentChildren }) {
  const [outcome, say] = useState('')
  const [dialog, setDialog] = useState<ComponentChildren>(null)
  const open = (next: ComponentChildren) => {
    say('')
    setDialog(next)
  }
  return (
    <ErrorBoundary>
      <PageContext.Provider value={{ outcome, say, open, close: () => setDialog(null) }}>
        {children}
        {dialog}
      </PageContext.Provider>
    </ErrorBoundary>
  )
}

interface PageHeadingProps {
  readonly title: string
  readonly subtitle?: ComponentChildren
  /** What can be done there. */
  readonly children?: ComponentChildren
}

/** It takes the focus when the page is entered, so that a screen reader begins here. What a change has done is read out when it appears. */
export function PageHeading({ title, subtitle, children }: PageHeadingProps) {
  const { outcome, say } = usePage()
  useEffect(() => {
    document.title = `${title} · Keyturn`
  }, [title])
  return (
    <>
      <header class="page-heading">
        <div>
          <h1 tabIndex={-1}>{title}</h1>
          {subtitle !== undefined && <p class="quiet">{subtitle}</p>}
        </div>
        {children !== undefined && <div class="page-actions">{children}</div>}
      </header>
      <div class="outcome" role="status">
        {outcome !== '' && (
          <div class="notice is-success">
            <p>{outcome}</p>
            <IconButton name="close" label="Dismiss" onClick={() => say('')} />
          </div>
        )}
      </div>
    </>
  )
}

interface CardSectionProps {
  readonly title: string
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

/** A section of a page with its heading, and perhaps buttons beside it. */
export function CardSection({ title, actions, children }: CardSectionProps) {
  const id = useId()
  return (
    <section class="card" aria-labelledby={id}>
      <div class="card-head">
        <h2 id={id}>{title}</h2>
        <div class="page-actions">{actions}</div>
      </div>
      {children}
    </section>
  )
}

/** In a list of the class `facts`. */
export function Fact({ name, children }: { readonly name: ComponentChildren; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

/** How far away a moment is. */
export function DistanceFact({ name, ...when }: ComponentProps<typeof Distance> & { readonly name: string }) {
  return (
    <Fact name={name}>
      <Distance {...when} />
    </Fact>
  )
}

/** A mistake in a view takes its place, and nothing else. Give it a key that stands for what is shown, so that another view begins anew. */
export function ErrorBoundary({ children }: { readonly children: ComponentChildren }) {
  const [error] = useErrorBoundary((caught: unknown) => reportError(caught))
  if (error === undefined) return <>{children}</>
  return (
    <div role="alert">
      <Notice kind="danger">
        This cannot be shown: the console has made a mistake. The console of the browser has the details.
      </Notice>
    </div>
  )
}

interface NoticeProps {
  readonly kind: 'warning' | 'danger'
  readonly children: ComponentChildren
}

/** A paragraph. */
export function Notice({ kind, children }: NoticeProps) {
  return (
    <div class={`notice is-${kind}`}>
      <p>{children}</p>
    </div>
  )
}

/** Why something failed, in the words of the API. Read out at once. */
export function FailureNotice({ failure }: { readonly failure: Failure | undefined }) {
  if (failure === undefined) return null
  return (
    <div class="notice is-danger" role="alert">
      <p>{sentence(failure.message)}</p>
      {failure.reason !== '' && <p class="reason">{failure.reason}</p>}
    </div>
  )
}

/** Texts of the API begin with a small letter and have no full stop, because they stand in logs and on the command line too. */
export function sentence(text: string): string {
  const ends = /[.!?…]$/.test(text)
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${ends ? '' : '.'}`
}

/** A state in a word or two. */
export interface State {
  readonly text: string
  readonly tone: 'success' | 'warning' | 'danger' | ''
}

export function Badge({ text, tone }: State) {
  return <span class={tone === '' ? 'badge' : `badge is-${tone}`}>{text}</span>
}
