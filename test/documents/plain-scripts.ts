import { ONE_MACHINE_LINES, typedBeside } from './outside-lines.ts'
import { notTyped, pageScript } from './page-script.ts'

// Pages for operators whose commands need nothing but the deployment.

export const SIMULATED = '--driver fake --hosts 1'

export const ONE_MACHINE = pageScript('docs/how-to/one-machine.md', {
  './weir up --address 192.0.2.10 --gateways 2': {
    typed: `./weir up --address 192.0.2.10 --gateways 2 ${SIMULATED}`,
    shows: /Server first is ACTIVE/,
    gives: {
      'http://127.0.0.1:8774': /Endpoint +(http:\/\/127\.0\.0\.1:\d+)/,
      'https://192.0.2.10:8443': /Elsewhere +(https:\/\/127\.78\.[\d.]+:\d+)/,
    },
  },
  './weir up --boot': {
    notTyped: 'It writes a unit of this machine; test/faults runs what is in it.',
  },
  './weir up --no-boot': { notTyped: 'It removes the unit.' },
  './weir status': { shows: /gateway-2 +up/ },
  './weir doctor': { shows: /ok +every process of the deployment runs/ },
  './weir backup run --directory /var/backups/weir': {
    // No folder of this machine.
    typed: './weir backup run --directory production-backups',
    shows: /and was verified/,
  },
  './weir up --set CELL_IMAGE_CACHE_DIRECTORY=/var/cache/weir': {
    // No folder of this machine.
    typed: './weir up --set CELL_IMAGE_CACHE_DIRECTORY=$PWD/.weir/image-cache',
    shows: /is up/,
  },
  ...typedBeside(ONE_MACHINE_LINES),
  ...notTyped('test/faults/services-elsewhere.test.ts does it with servers that exist.', [
    './weir keys create DIRECTORY',
    './weir down',
    './weir up --fresh',
  ]),
  './weir image preload debian-13 --cell north': {
    typed: './weir image preload tiny --cell north',
  },
})

const SENT = 'test/api/versioned-notifications.test.ts has a server and gateways with this setting'
export const NOTIFICATIONS = pageScript('docs/how-to/notifications.md', {
  './weir webhook list -o wide': {
    shows: /^billing /m,
    gives: { WEBHOOK_ID: /^billing .* ([0-9a-f]{8}-[0-9a-f-]{27}) /m },
  },
  './weir webhook replace-secret WEBHOOK_ID': { shows: /^[\w-]{43}$/m },
  './weir webhook redeliver WEBHOOK_ID': { shows: /Dead letters sent again/ },
  'nats-server --addr 127.0.0.1 --port 4333 --jetstream --store_dir notifications': {
    notTyped: `It does not end; ${SENT}.`,
  },
  './weir up --set GATEWAY_NOTIFICATIONS_URL=nats://127.0.0.1:4333': {
    notTyped: `It needs the server of the line before; ${SENT}.`,
  },
})

export const USAGE = pageScript('docs/how-to/usage.md', {
  './weir usage': { shows: /^PROJECT +SERVERS +HOURS/m },
  './weir usage --by cell': { shows: /^CELL .* EUR$/m },
})

const ONE_FOLDER =
  'Here the release takes its own place; test/faults/upgrade.test.ts has two folders.'
export const UPGRADE = pageScript('docs/how-to/upgrade.md', {
  'cd /srv/weir-next': { notTyped: ONE_FOLDER },
  'cd /srv/weir': { notTyped: ONE_FOLDER },
  'export WEIR_HOME=/srv/weir/.weir': { notTyped: ONE_FOLDER },
  './weir upgrade check': { shows: /ok +cell north runs .* and can stay/ },
  './weir upgrade run --dry-run': { shows: /^cell-north +runs .* already$/m },
  './weir upgrade run': { shows: /^compute-north-1 +runs .* already$/m },
  './weir upgrade run --back': { shows: /^compute-north-1 .*[^]*^gateway-1 +runs .* already$/m },
  './weir status': { codes: [0, 4], shows: /^gateway-1 +up/m },
  './weir cell list -o wide': { codes: [0, 4], shows: /RELEASE/ },
  './weir upgrade run --units': {
    notTyped: 'Systemd does not run here; test/faults/debian-package.test.ts has it typed.',
  },
  ...notTyped('test/documents/production.test.ts types these on its machines.', [
    './weir init',
    './weir gateway join',
  ]),
})
