/**
 * Buttons, and icons. A text or a name always stands beside an icon.
 */

/** Strokes in a square of 16. */
const PATHS = {
  keys: 'M9.5 6.5a3.5 3.5 0 1 0-3 3.46L8 8.5h1.5V7M9.2 7.8 14 12.5V14h-2v-1.5h-1.5V11H9',
  users: 'M8 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM3 13.5c.4-2.6 2.4-4 5-4s4.60 1.4 5 4',
  projects: 'M2.5 4.5h4l1.5 1.5h5.5v7h-11ZM2.5 4.5v8.5',
  issuers: 'M8 2.5 13 4.5v4c0 2.6-2 4.4-5 5.500-3-1.100-5-2.900-5-5.500v-4ZM5.750 8l1.750 1.750L10.500 6.500',
  audit: 'M4 2.5h8v11H4ZM6 5.5h4M6 8h4M6 10.5h2.5',
  webhooks: 'M2.5 8.5h3l1.5-5 2 9 1.500-4h3',
  tokens: 'M8 2.5 13 5v6l-5 2.5L3 11V5ZM3 5l5 2.5L13 5M8 7.5v6',
  instance: 'M3 3.5h10v3.5H3ZM3 9h10v3.5H3ZM5 5.250h.01M5 10.750h.01',
  copy: 'M6 6h7v7.5H6ZM10 6V2.5H3V10h3',
  check: 'm3.5 8.5 3 3 6-7',
  close: 'm4 4 8 8M12 4l-8 8',
} as const

/** The name of an icon. */
export type IconName = keyof typeof PATHS

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}

interface ButtonProps {
  readonly text: string
  readonly kind?: 'primary' | 'danger' | undefined
  readonly isSmall?: boolean
  /** For a screen reader. Default: the text. */
  readonly label?: string
  readonly disabled?: boolean | undefined
  /** Undefined: it submits its form. */
  readonly onClick?: () => void
}

export function Button({ text, kind, isSmall = false, label, disabled, onClick }: ButtonProps) {
  const classes = ['button', ...(kind === undefined ? [] : [`is-${kind}`]), ...(isSmall ? ['is-small'] : [])]
  const type = onClick === undefined ? 'submit' : 'button'
  return (
    <button type={type} class={classes.join(' ')} aria-label={label} disabled={disabled} onClick={onClick}>
      {text}
    </button>
  )
}

interface IconButtonProps {
  readonly name: IconName
  /** For a screen reader. */
  readonly label: string
  readonly title?: string
  readonly onClick: () => void
  readonly onBlur?: () => void
}

export function IconButton({ name, label, ...others }: IconButtonProps) {
  return (
    <button type="button" class="icon-button" aria-label={label} {...others}>
      <Icon name={name} />
    </button>
  )
}
