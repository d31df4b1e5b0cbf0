/**
 * A section of a page with its heading, and perhaps a button beside it.
 */
import type { ComponentChildren } from 'preact'

interface CardSectionProps {
  /** Unique in the page. */
  readonly id: string
  readonly title: string
  /** False: there is no button. */
  readonly action?: { readonly verb: string; readonly onClick: () => void } | false
  readonly children: ComponentChildren
}

export function CardSection({ id, title, action = false, children }: CardSectionProps) {
  return (
    <section class="card" aria-labelledby={`${id}-title`}>
      <div class="card-head">
        <h2 id={`${id}-title`}>{title}</h2>
        {action !== false && (
          <button type="button" class="button" onClick={action.onClick}>
            {action.verb}
          </button>
        )}
      </div>
      {children}
    </section>
  )
}
