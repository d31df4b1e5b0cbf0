/**
 * Shows characters that cannot be seen, such as zero-width ones and those that change the direction of text, as escape sequences, so that
 * no name passes for another one. It applies to all text that the page draws and to what it says to a screen reader. What is in a
 * field, what is copied and what is sent stays as it is.
 */
import { options, type VNode } from 'preact'
import { visible } from '../../src/domain/printable.ts'

const SPOKEN = ['aria-label', 'title', 'placeholder']

/** Call it before the page is drawn. */
export function showInvisibleCharacters(): void {
  const { vnode: inner } = options
  options.vnode = (node) => {
    makeVisible(node)
    inner?.(node)
  }
}

/** Preact has a node of its own for each text, whose properties are the text. */
function makeVisible(node: Omit<VNode, 'props'> & { props: unknown }): void {
  const { type, props } = node
  if (typeof props === 'string') node.props = visible(props)
  if (typeof type !== 'string') return
  const attributes = props as Record<string, unknown>
  for (const name of SPOKEN) {
    const text = attributes[name]
    if (typeof text === 'string') attributes[name] = visible(text)
  }
}
