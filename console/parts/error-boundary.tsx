/**
 * Stands between a view and the rest of the page: a mistake in the view takes its place, and nothing else.
 */
import type { ComponentChildren } from 'preact'
import { useErrorBoundary } from 'preact/hooks'
import { Notice } from './notice.tsx'

/** Give it a key that stands for what is shown, so that another view begins anew. */
export function ErrorBoundary({ children }: { readonly children: ComponentChildren }) {
  const [error] = useErrorBoundary((caught: unknown) => reportError(caught))
  if (error === undefined) return <>{children}</>
  return (
    <div role="alert">
      <Notice kind="danger">
        <p>This cannot be shown: the console has made a mistake. The console of the browser has the details.</p>
      </Notice>
    </div>
  )
}
