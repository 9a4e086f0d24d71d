import { globSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from './page.ts'

const OWN = join(import.meta.dirname, '..', '..', 'pages', 'console')
const NOVNC = join(dirname(fileURLToPath(import.meta.resolve('@novnc/novnc'))), '..')
const XTERM = join(dirname(fileURLToPath(import.meta.resolve('@xterm/xterm'))), '..')
const FIT = dirname(fileURLToPath(import.meta.resolve('@xterm/addon-fit')))

/** Both libraries set styles of elements; noVNC draws cursors from data. Clouds' own portals show consoles in frames. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "connect-src 'self'; base-uri 'self'; form-action 'none'"

/** `/console/vnc`: the screen of a server. */
const VNC_PAGE: Page = {
  path: '/console/vnc',
  html: join(OWN, 'vnc.html'),
  files: new Map([
    ['console.css', join(OWN, 'console.css')],
    ['session.js', join(OWN, 'session.js')],
    ['vnc.js', join(OWN, 'vnc.js')],
    ...globSync('{core,vendor}/**/*.js', { cwd: NOVNC }).map(
      (name) => [`novnc/${name}`, join(NOVNC, name)] as const,
    ),
  ]),
  policy: POLICY,
}

/** `/console/serial`: its serial port. */
const SERIAL_PAGE: Page = {
  path: '/console/serial',
  html: join(OWN, 'serial.html'),
  files: new Map([
    ['console.css', join(OWN, 'console.css')],
    ['session.js', join(OWN, 'session.js')],
    ['serial.js', join(OWN, 'serial.js')],
    ['addon-fit.mjs', join(FIT, 'addon-fit.mjs')],
    ['xterm.css', join(XTERM, 'css/xterm.css')],
    ['xterm.mjs', join(XTERM, 'lib/xterm.mjs')],
  ]),
  policy: POLICY,
}

export const CONSOLE_PAGES: readonly Page[] = [VNC_PAGE, SERIAL_PAGE]
