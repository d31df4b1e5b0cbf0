/**
 * The heading of a page, with what can be done there. It takes the focus when the page is entered, so that a screen reader begins here.
 */
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'

interface PageHeadingProps {
  readonly title: string
  readonly subtitle?: ComponentChildren
  readonly children?: ComponentChildren
}

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
