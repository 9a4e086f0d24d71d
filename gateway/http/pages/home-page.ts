import { join } from 'node:path'
import type { Page } from './page.ts'

const OWN = join(import.meta.dirname, '..', '..', 'pages', 'home')

/** `/home`: the addresses of the services here. */
export const HOME_PAGE: Page = {
  path: '/home',
  html: join(OWN, 'index.html'),
  files: new Map([
    ['home.js', join(OWN, 'home.js')],
    ['home.css', join(OWN, 'home.css')],
  ]),
  policy:
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; " +
    "base-uri 'self'; form-action 'none'; frame-ancestors 'none'",
}
