/**
 * What a change has done. Read out when it appears.
 */
import { Icon } from './icon.tsx'

export function Outcome({ text, onClose }: { readonly text: string; readonly onClose: () => void }) {
  return (
    <div class="outcome" role="status">
      {text !== '' && (
        <div class="notice is-success">
          <p>{text}</p>
          <button type="button" class="icon-button" aria-label="Dismiss" onClick={onClose}>
            <Icon name="close" />
          </button>
        </div>
      )}
    </div>
  )
}
