/**
 * What pages are made of: headings, sections, facts, and a mistake in place of a page.
 */
import type { ComponentChildren, ComponentProps } from 'preact'
import { useEffect, useErrorBoundary } from 'preact/hooks'
import { Notice } from './notice.tsx'
import { Distance } from './when.tsx'

interface PageHeadingProps {
  readonly title: string
  readonly subtitle?: ComponentChildren
  /** What can be done there. */
  readonly children?: ComponentChildren
}

/** It takes the focus when the page is entered, so that a screen reader begins here. */
export function PageHeading({ title, subtitle, children }: PageHeadingProps) {
  useEffect(() => {
    document.title = `${title} · Keyturn`
  }, [title])
  return (
    <header class="page-heading">
      <div>
        <h1 tabIndex={-1}>{title}</h1>
        {subtitle !== undefined && <p class="quiet">{subtitle}</p>}
      </div>
      {children !== undefined && <div class="page-actions">{children}</div>}
    </header>
  )
}

interface CardSectionProps {
  /** Unique in the page. */
  readonly id: string
  readonly title: string
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

/** A section of a page with its heading, and perhaps buttons beside it. */
export function CardSection({ id, title, actions, children }: CardSectionProps) {
  return (
    <section class="card" aria-labelledby={`${id}-title`}>
      <div class="card-head">
        <h2 id={`${id}-title`}>{title}</h2>
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
