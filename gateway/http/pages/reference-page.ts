import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from './page.ts'

const OWN = join(import.meta.dirname, '..', '..', 'pages', 'reference')
const SWAGGER_UI = dirname(fileURLToPath(import.meta.resolve('swagger-ui-dist/package.json')))

/** `/docs`: the reference of any service at any microversion, drawn from the published documents. */
export const REFERENCE_PAGE: Page = {
  path: '/docs',
  html: join(OWN, 'index.html'),
  files: new Map([
    ['reference.js', join(OWN, 'reference.js')],
    ['reference.css', join(OWN, 'reference.css')],
    ['swagger-ui.css', join(SWAGGER_UI, 'swagger-ui.css')],
    ['swagger-ui-bundle.js', join(SWAGGER_UI, 'swagger-ui-bundle.js')],
  ]),
  // Swagger UI sets styles of elements, and its style sheet holds its icons as data.
  policy:
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
    "connect-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'",
}
