/**
 * Starts the page.
 */
import './style/theme.css'
import './style/layout.css'
import './style/parts.css'
import './style/keys.css'
import { render } from 'preact'
import { App } from './app.tsx'
import { followSignInLinks, openSession } from './session/session.ts'

const page = document.getElementById('page')
if (page !== null) render(<App />, page)
followSignInLinks()
void openSession()
