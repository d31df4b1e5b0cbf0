/**
 * Starts the page.
 */
import './style/theme.css'
import './style/layout.css'
import './style/parts.css'
import './style/keys.css'
import { render } from 'preact'
import { App } from './app.tsx'
import { showInvisibleCharacters } from './format/visible-text.ts'
import { followSignInLinks, openSession } from './session/session.ts'

showInvisibleCharacters()
const page = document.getElementById('page')
if (page !== null) render(<App />, page)
followSignInLinks()
void openSession()
