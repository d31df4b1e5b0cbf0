/**
 * From page to page of a list. The API goes forward only: back is the history of the browser.
 */
import { linkTo, route } from '../navigation/route.ts'

interface PagerProps {
  /** Of the page that is shown; empty for the first. */
  readonly pageToken: string
  /** Of the next page; empty on the last. */
  readonly nextPageToken: string
}

export function Pager({ pageToken, nextPageToken }: PagerProps) {
  if (pageToken === '' && nextPageToken === '') return null
  const { path, query } = route.value
  const page = (token: string) => linkTo(path, { ...Object.fromEntries(query), page: token })
  return (
    <nav class="pager" aria-label="Pages">
      {pageToken === '' ? (
        <span />
      ) : (
        <a class="button" href={page('')}>
          First page
        </a>
      )}
      {nextPageToken !== '' && (
        <a class="button" href={page(nextPageToken)}>
          Next page
        </a>
      )}
    </nav>
  )
}
