import { randomInt } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { waitFor } from '#common/wait-for.ts'
import { programPath } from '#deploy/process/find-program.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { whyNoOpenstack } from '#test/env/openstack-cli.ts'
import { BACKUP_LINES, RESTORE_LINES, typedBeside } from './outside-lines.ts'
import { notTyped, ofLastOperation, type PageScript, pageScript } from './page-script.ts'
import { NOTIFICATIONS, ONE_MACHINE, SIMULATED, UPGRADE, USAGE } from './plain-scripts.ts'
import { Machine, Reader } from './reader.ts'
import { addUserOf, bootServer, leaveStuck, untilServer } from './symptoms.ts'

// Goal: the commands on the pages for operators do what the pages say. One deployment runs all of them: it is started,
// watched, joined, cascaded into a cloud, repaired, backed up and upgraded. Hosts are simulated, other machines are folders.

/** Of this machine alone, and of this run alone: the port is always the same. */
const NET = `127.78.${randomInt(1, 255)}`
const [ADDRESS, LAB_ADDRESS] = [`${NET}.1`, `${NET}.2`]
const UP_LAB = `./weir up ${SIMULATED} --cells 1 --address ${LAB_ADDRESS}`
const PAGE_MS = 400_000
const STATE_MS = 120_000

let here: Machine
/** Of the cell edge-1, and of its further host. */
let edge: Machine
let rack: Machine
/** A cloud of somebody else. */
let lab: Machine
let reader: Reader

const isListed = async (cell: string, state: string) => {
  const { said } = await here.type('./weir cell list')
  return new RegExp(`^${cell} +${state} `, 'm').test(said)
}
const untilCell = (cell: string, state: string) =>
  waitFor(`${cell} to be ${state}`, () => isListed(cell, state), STATE_MS)
const stopEdge = async () => {
  for (const machine of [edge, rack]) await machine.checkout.succeed('down')
  await untilCell('edge-1', 'unreachable')
}

const isLabEmpty = async () => /^SERVERS +0$/m.test((await here.type('./weir cell show lab')).said)
const isGone = async (name: string) =>
  !(await here.checkout.servers()).some((server) => server.name === name)

/** Where commands at `here` find the clouds that they are told by name. */
function writeClouds(change: object): void {
  const file = parse(readFileSync(lab.checkout.cloudsFile, 'utf8')) as {
    clouds: { 'weir-remote': { auth: object } }
  }
  const known = file.clouds['weir-remote']
  const clouds = { lab: known, 'lab-new': { ...known, auth: { ...known.auth, ...change } } }
  writeFileSync(join(here.folder, 'clouds.yaml'), stringify({ clouds }))
}

const learnRequest = async () => {
  const { said } = await here.type('./weir audit list -o json')
  reader.learn('REQUEST_ID', /"request_id": "(req-[^"]+)"/.exec(said)![1]!)
}
const PROMETHEUS = programPath('prometheus')

const MONITORING = pageScript('docs/how-to/monitoring.md', {
  'prometheus --config.file=.weir/monitoring/prometheus.yaml --storage.tsdb.path=.weir/monitoring/data --web.listen-address=127.0.0.1:9090':
    PROMETHEUS === undefined
      ? { notTyped: 'There is no Prometheus on this machine.' }
      : {
          typed: `${PROMETHEUS} --config.file=.weir/monitoring/prometheus.yaml --storage.tsdb.path=.weir/monitoring/data --web.listen-address=127.0.0.1:0`,
          until: /Server is ready to receive web requests/,
        },
  "curl -s 'http://127.0.0.1:9090/api/v1/query?query=weir_cell_up'": {
    notTyped: 'The Prometheus before it has ended; test/api/monitoring.test.ts asks a running one.',
  },
  'curl -s -H "Authorization: Bearer $(cat .weir/secrets/metrics.token)" http://127.0.0.1:8774/metrics/federation':
    { shows: /^weir_stuck_operations 0$/m },
  './weir status --cluster': { shows: /^ok +bus +nats +answers/m },
  './weir standby status': { notTyped: 'This deployment has one site; standby.test.ts types it.' },
  './weir server list --status ERROR -o json': { shows: /^\[\]$/m },
  './weir operation list --state failed -o json': { shows: /^\[\]$/m },
  './weir cell list -o json': { shows: /"name": "north"/ },
  './weir events -f -o json': { until: /"type":"server\.state"/ },
  './weir request show REQUEST_ID': { before: learnRequest, shows: /req-/ },
  './weir logs gateway-1 -f': { until: /"level"/ },
})

const TRACING = pageScript('docs/how-to/tracing.md', {
  "./weir up --set OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 --set GATEWAY_TRACE_SAMPLE_RATIO=0.1 --set 'GATEWAY_TRACE_URL=http://127.0.0.1:16686/trace/{trace_id}'":
    { shows: /is up/ },
  './weir request show REQUEST_ID': { before: learnRequest, shows: /req-/ },
  './weir audit list -o wide': { shows: / TRACE / },
  './weir up --set GATEWAY_TRACE_TRUSTED_CALLERS=192.0.2.21,192.0.2.22': { shows: /is up/ },
  './weir up --set OTEL_EXPORTER_OTLP_ENDPOINT=': { shows: /is up/ },
})

const JOIN = pageScript('docs/how-to/join-a-cell.md', {
  './weir up --address 192.0.2.10': { shows: /is up/ },
  './weir cell token create edge-1': {
    shows:
      /^WEIR_JOIN_TOKEN=weir1\.\S+ \.\/weir cell join --gateway https:\/\/127\.78\.[\d.]+:\d+$/m,
    gives: { 'weir1.…': /weir1\.\S+/ },
  },
  'WEIR_JOIN_TOKEN=weir1.… ./weir cell join --gateway https://192.0.2.10:8443 --driver libvirt': {
    // Which driver does not matter to joining.
    typed:
      'WEIR_JOIN_TOKEN=weir1.… ./weir cell join --gateway https://192.0.2.10:8443 --driver fake --hosts 1',
    at: 'edge',
    shows: /Cell edge-1 has joined/,
    after: () => untilCell('edge-1', 'up'),
  },
  './weir cell token create edge-1 --host edge-1-9': { gives: { 'weir1.…': /weir1\.\S+/ } },
  'WEIR_JOIN_TOKEN=weir1.… ./weir host join --gateway https://192.0.2.10:8443 --driver libvirt': {
    typed:
      'WEIR_JOIN_TOKEN=weir1.… ./weir host join --gateway https://192.0.2.10:8443 --driver fake',
    at: 'rack',
    shows: /Host edge-1-9 of cell edge-1 has joined/,
  },
  './weir cell token create edge-1 --renew': { gives: { 'weir1.…': /weir1\.\S+/ } },
  'WEIR_JOIN_TOKEN=weir1.… ./weir cell join --gateway https://192.0.2.10:8443': {
    at: 'edge',
    shows: /Cell edge-1 has joined/,
    after: () => untilCell('edge-1', 'up'),
  },
  "./weir cell lost edge-1 --stopped 'power of rack 7 cut at 12:04' --yes": {
    before: stopEdge,
    after: () => untilCell('edge-1', 'lost'),
  },
  './weir status': {
    before: () => edge.type('./weir up'),
    at: 'edge',
    codes: [4],
    shows: /lost/,
  },
  './weir doctor': { at: 'edge', codes: [1], shows: /lost/ },
  './weir cell recover edge-1 --wait': { shows: /STATE +done/ },
  ...ofLastOperation(/cell-recovery/, 'test/faults/cell-recovery.test.ts'),
  './weir up --set CELL_FENCE_AFTER_S=60': { shows: /is up/ },
  './weir cell update edge-1 --recover-after 10m': {
    // The cell is on another machine, which is not set up so.
    codes: [1],
    shows: /Set CELL_FENCE_AFTER_S of its processes first/,
  },
  './weir cell leave edge-1 --yes': {
    before: async () => {
      const { said } = await here.type('./weir cell token create edge-1 --renew')
      const [line = ''] = said.match(/^WEIR_JOIN_TOKEN=.*$/m) ?? []
      await edge.type(line)
      await untilCell('edge-1', 'up')
    },
  },
})

/** That cloud is on this machine, and its servers are simulated. */
const ENTRY = '--set networks=127.0.0.0/8 --set hypervisor_type=fake'
const CASCADE = pageScript('docs/how-to/cascade.md', {
  './weir cell verify --cloud lab --set projects=any': {
    typed: `./weir cell verify --cloud lab --set projects=any ${ENTRY}`,
    shows: /ok +credential/,
  },
  './weir cell join lab --driver nested --cloud lab --set projects=any': {
    typed: `./weir cell join lab --driver nested --cloud lab --set projects=any ${ENTRY}`,
    shows: /Cell lab takes servers/,
  },
  './weir cell verify lab --boot': { shows: /ok +boot[^]*ok +delete/ },
  './weir cell login lab --cloud lab-new': {
    before: async () =>
      writeClouds({ username: 'newcomer', password: await addUserOf(lab, 'newcomer') }),
  },
  './weir cell leave lab --yes': {
    before: () => waitFor('the cell to say that it is empty', isLabEmpty, STATE_MS),
  },
  './weir host guests lab-1': {
    before: async () => {
      reader.learn('GUEST', await bootServer(lab, 'guest'))
      await reader.type({
        page: 'the name of a cell that has left is free',
        steps: CASCADE.steps.filter(({ line }) => line.startsWith('./weir cell join lab ')),
      })
    },
    shows: /guest/,
  },
  './weir server adopt GUEST --host lab-1 --project web --flavor m1.small --image debian': {
    typed: './weir server adopt GUEST --host lab-1 --project demo --flavor m1.tiny --image tiny',
    after: () => untilServer(here, 'guest', 'ACTIVE'),
  },
  './weir network why 192.0.2.1 ADDRESS': {
    notTyped: 'It stands for the command with addresses, which the page on networks has.',
  },
  './weir server trace': {
    notTyped: 'It stands for the command with a server, which troubleshooting has.',
  },
})

const TROUBLESHOOTING = pageScript('docs/how-to/troubleshooting.md', {
  'openstack server show SERVER -c fault': {
    before: async () => {
      await here.checkout.succeed('host', 'cordon', 'north-1')
      reader.learn('SERVER', await bootServer(here, 'unlucky', 'north'))
      await untilServer(here, 'unlucky', 'ERROR')
    },
    shows: /No valid host/,
  },
  './weir why SERVER': { shows: /ComputeFilter removed the last/ },
  './weir server events SERVER': { shows: /create/ },
  // Of the cell that was lost before.
  './weir operation list': { shows: /cell-recovery/ },
  './weir operation list --state failed': {
    before: async () => {
      const server = await bootServer(here, 'leaving', 'south')
      await untilServer(here, 'leaving', 'ACTIVE')
      reader.learn('ID', await leaveStuck(here, server))
    },
    shows: /stuck/,
  },
  './weir operation continue ID': {
    after: () => waitFor('the delete to be done', () => isGone('leaving'), STATE_MS),
  },
  './weir cell list': {
    before: async () => {
      // It would start the cell before the reader looks.
      process.kill(here.checkout.supervisorPid(), 'SIGKILL')
      process.kill((await here.checkout.processes()).get('cell-north')!, 'SIGKILL')
      await untilCell('north', 'unreachable')
    },
    codes: [4],
    shows: /north +unreachable/,
  },
  './weir status': { codes: [4], shows: /cell-north +down/ },
  './weir logs cell-NAME': { typed: './weir logs cell-north' },
  './weir up': { after: () => untilCell('north', 'up') },
  './weir quota show PROJECT': { typed: './weir quota show demo', shows: /instances/ },
  './weir server verify SERVER': { typed: './weir server verify first', shows: /ok/ },
  './weir server verify SERVER --fix': { typed: './weir server verify first --fix' },
  './weir cell resync CELL': { typed: './weir cell resync north' },
  './weir cell verify NAME': {
    typed: './weir cell verify lab',
    needs: 'lab',
    shows: /ok +credential/,
  },
  './weir cell verify NAME --boot': {
    typed: './weir cell verify lab --boot',
    needs: 'lab',
    shows: /ok +boot[^]*ok +delete/,
  },
  './weir cell login NAME --cloud ENTRY': {
    typed: './weir cell login lab --cloud lab-new',
    needs: 'lab',
  },
  './weir up --fresh': { typed: UP_LAB.replace('up', 'up --fresh'), at: 'lab' },
  'openstack server rebuild SERVER': {
    before: () => here.checkout.succeed('host', 'uncordon', 'north-1'),
    typed: 'openstack server rebuild first',
    after: () => untilServer(here, 'first', 'ACTIVE'),
  },
  'openstack server set --state active SERVER': {
    typed: 'eval "$(./weir env --cloud weir-admin)"; openstack server set --state active SERVER',
  },
  "./weir cell lost NAME --stopped 'how its machines were stopped' --yes": {
    before: async () => {
      const running = await here.checkout.processes()
      process.kill(here.checkout.supervisorPid(), 'SIGKILL')
      for (const name of ['cell-south', 'compute-south-1'])
        process.kill(running.get(name)!, 'SIGKILL')
      await untilCell('south', 'unreachable')
    },
    typed: "./weir cell lost south --stopped 'its processes were killed' --yes",
    after: async () => {
      await untilCell('south', 'lost')
      // With a supervisor again.
      await here.checkout.succeed('up')
    },
  },
  './weir cell orphans CELL': { typed: './weir cell orphans north' },
  './weir request show ID': { typed: './weir request show REQUEST_ID' },
  './weir network why': {
    notTyped: 'It stands for the command with two addresses, which the page on networks has.',
  },
})

const OF_SYSTEMD = notTyped(
  'Systemd does not run here; test/faults/debian-package.test.ts has its units.',
  [
    'mkdir /var/backups/weir && chown weir: /var/backups/weir && chmod 700 /var/backups/weir',
    'cp deploy/systemd/weir-backup.service deploy/systemd/weir-backup.timer /etc/systemd/system/',
    'systemctl daemon-reload',
    'systemctl enable --now weir-backup.timer',
  ],
)
const BACKUP = pageScript('docs/how-to/backup.md', {
  './weir backup run --directory /var/backups/weir': {
    typed: './weir backup run --directory backups',
    shows: /and was verified/,
  },
  './weir backup list --directory /var/backups/weir': {
    typed: './weir backup list --directory backups',
    shows: /^\d{4}-\d\d-\d\dT\d{6}Z /,
  },
  './weir backup verify --directory /var/backups/weir': {
    typed: './weir backup verify --directory backups',
    shows: /is whole/,
  },
  ...OF_SYSTEMD,
  './weir restore /var/backups/weir/NAME --yes': {
    typed: './weir restore backups/20* --yes',
    shows: /The deployment runs/,
  },
  ...typedBeside(BACKUP_LINES),
  ...notTyped('test/documents/production.test.ts types it.', Object.values(RESTORE_LINES)),
  './weir backup database north --file north.backup': {
    after: async () => {
      for (const name of ['adopted', 'ended']) {
        reader.learn(name, await bootServer(here, name, 'north'))
        await untilServer(here, name, 'ACTIVE')
      }
    },
  },
  './weir cell orphans north': {
    shows: /(weir-\S+ +active +north-1[^]*){2}/,
    after: async () => {
      await here.type(reader.filled('./weir cell orphans north --adopt adopted'))
      await here.type(reader.filled('./weir cell orphans north --end ended --yes'))
      await untilServer(here, 'adopted', 'ACTIVE')
    },
  },
  // One cell is lost since troubleshooting.
  './weir cell list': { codes: [0, 4], shows: /^north +up/m },
})

beforeAll(async () => {
  const values = { '192.0.2.10': ADDRESS }
  here = new Machine()
  edge = new Machine()
  rack = new Machine()
  lab = new Machine()
  reader = new Reader({ here, edge, rack, lab }, values)
  const made = await lab.type(UP_LAB)
  if (made.code !== 0) throw new Error(made.said)
  writeClouds({})
}, PAGE_MS)

afterAll(async () => {
  for (const machine of [lab, rack, edge, here]) await machine?.[Symbol.asyncDispose]()
}, PAGE_MS)

const noClient = whyNoOpenstack()
const isSkipped = (script: PageScript) =>
  !isFullRun || (noClient !== undefined && script === TROUBLESHOOTING)

for (const script of [
  ONE_MACHINE,
  MONITORING,
  NOTIFICATIONS,
  USAGE,
  TRACING,
  JOIN,
  CASCADE,
  TROUBLESHOOTING,
  BACKUP,
  UPGRADE,
])
  test.skipIf(isSkipped(script))(`${script.page} can be typed`, () => reader.type(script), PAGE_MS)
