import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from './page.ts'

const OWN = join(import.meta.dirname, '..', '..', 'pages', 'ui')
const HTML = join(OWN, 'index.html')

const moduleFile = (name: string) => fileURLToPath(import.meta.resolve(name))

const EVENTS = dirname(moduleFile('eventsource-parser/stream'))

/** The one script in the page itself, which names modules: allowed by its digest. */
function importMapDigest(): string {
  const map = /<script type="importmap">([^<]*)<\/script>/.exec(readFileSync(HTML, 'utf8'))?.[1]
  return createHash('sha256')
    .update(map ?? '')
    .digest('base64')
}

/** `/ui`: cells, hosts, servers, events and operations, for operators and for the users of a project. */
export const UI_PAGE: Page = {
  path: '/ui',
  html: HTML,
  files: new Map([
    ['ui.css', join(OWN, 'ui.css')],
    ...globSync('*.js', { cwd: OWN }).map((name) => [name, join(OWN, name)] as const),
    ['preact.mjs', moduleFile('preact')],
    ['hooks.mjs', moduleFile('preact/hooks')],
    ...['stream.js', 'parse.js', 'errors.js'].map(
      (name) => [`events/${name}`, join(EVENTS, name)] as const,
    ),
  ]),
  policy:
    `default-src 'none'; script-src 'self' 'sha256-${importMapDigest()}'; style-src 'self'; img-src data:; ` +
    "connect-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'",
}
