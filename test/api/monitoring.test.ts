import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { networkMetrics } from '#cells/compute/metrics/network-metrics.ts'
import { createLogger } from '#common/log.ts'
import { programPath } from '#deploy/process/find-program.ts'
import { activeServer } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { type Prometheus, startPrometheus } from '#test/env/prometheus.ts'

// Goal: a real Prometheus with the configuration that operators copy reads every program of a deployment; every expression
// of the dashboards has a result there, alerts fire on real faults, and the page about metrics names exactly what is there.

const MONITORING = 'deploy/monitoring'
const PAGE = 'docs/reference/metrics.md'
const TOKEN = 'read-by-monitoring'
const isMissing = programPath('prometheus') === undefined
/** Of histograms and of prom-client. */
const SERIES = /_(?:bucket|sum|count)$/
const METRIC = /\b(?:weir|openstack|api_request|process|nodejs)_[a-z0-9_]*[a-z]\b/g

const folder = await mkdtemp(join(tmpdir(), 'weir-monitoring-'))
const targets = join(folder, 'targets')
const owned = new AsyncDisposableStack()
let cloud: Cloud
let prometheus: Prometheus

beforeAll(async () => {
  owned.defer(() => rm(folder, { recursive: true, force: true }))
  const own = { METRICS_PORT: '0', METRICS_TARGETS: targets }
  const settings = (prefix: string) =>
    Object.fromEntries(Object.entries(own).map(([name, value]) => [`${prefix}_${name}`, value]))
  cloud = owned.use(
    await startCloud({
      gateways: 1,
      cells: 2,
      processesPerCell: 1,
      hostsPerCell: 1,
      gateway: { GATEWAY_METRICS_TOKEN: TOKEN, GATEWAY_METRICS_TARGETS: targets },
      cell: { ...settings('CELL'), CELL_IMAGE_CACHE_DIRECTORY: join(folder, 'images') },
      compute: settings('COMPUTE'),
    }),
  )
  await activeServer(cloud, cloud.as('demo'))
  if (!isMissing) prometheus = owned.use(await startPrometheus(await configuration()))
})
afterAll(() => owned.disposeAsync())

/** As operators copy it, but for how often it looks, and how long an alert waits. */
async function configuration(): Promise<string> {
  const read = (name: string) => readFile(join(MONITORING, name), 'utf8')
  const text = (await read('prometheus.yaml'))
    .replaceAll('_interval: 15s', '_interval: 1s')
    .replace('gateway-gateway-1', (await gatewayTarget()).replace('.json', ''))
  await writeFile(join(folder, 'prometheus.yaml'), text)
  await writeFile(
    join(folder, 'rules.yaml'),
    (await read('rules.yaml')).replaceAll(/ for: .*/g, ' for: 0s'),
  )
  await writeFile(join(folder, 'metrics.token'), TOKEN)
  return join(folder, 'prometheus.yaml')
}

async function gatewayTarget(): Promise<string> {
  return (await readdir(targets)).find((name) => name.startsWith('gateway-')) ?? ''
}

/** What every program serves, as text. */
async function scraped(): Promise<readonly string[]> {
  const files = await readdir(targets)
  const addresses = await Promise.all(
    files.map(async (name) => {
      const [target] = JSON.parse(await readFile(join(targets, name), 'utf8')) as readonly [
        { readonly targets: readonly [string] },
      ]
      return target.targets[0]
    }),
  )
  const headers = { authorization: `Bearer ${TOKEN}` }
  const urls = [
    ...addresses.map((address) => `http://${address}/metrics`),
    `${cloud.endpoints[0]}/metrics/federation`,
  ]
  return Promise.all(urls.map(async (url) => (await fetch(url, { headers })).text()))
}

/** The names of all metrics there are; those of Open vSwitch only a host with one has. */
async function metricNames(): Promise<ReadonlySet<string>> {
  const ofSwitch = new Registry()
  networkMetrics(
    ofSwitch,
    { read: () => Promise.reject(new Error('none')) },
    { guests: () => [] },
    createLogger('x', 'silent'),
  )
  const texts = [...(await scraped()), await ofSwitch.metrics()]
  return new Set(
    texts.flatMap((text) => Array.from(text.matchAll(/^# TYPE (\S+)/gm), ([, name = '']) => name)),
  )
}

const isOfProcess = (name: string) => /^(?:process|nodejs)_/.test(name)

test('the page about metrics names every metric of our own, and no other', async () => {
  const own = [...(await metricNames())].filter((name) => !isOfProcess(name))
  const page = await readFile(PAGE, 'utf8')
  const named = Array.from(
    page.matchAll(/`((?:weir|openstack|api_request)_[a-z_]*[a-z])`/g),
    ([, name = '']) => name,
  )

  expect(own.length).toBeGreaterThan(80)
  expect([...new Set(named)].toSorted()).toEqual(own.toSorted())
})

test('no series has an id of a user’s object as a label', async () => {
  const server = await activeServer(cloud, cloud.as('demo'))
  const text = (await scraped()).join('\n')

  expect(text).not.toContain(server.id)
  expect(text).toMatch(/^weir_servers\{cell="(north|south)",status="ACTIVE"\} [12]$/m)
})

interface Panel {
  readonly title: string
  readonly targets: readonly { readonly expr: string }[]
}

async function expressions(): Promise<readonly { readonly from: string; readonly expr: string }[]> {
  const boards = await readdir(join(MONITORING, 'dashboards'))
  const ofBoards = await Promise.all(
    boards.map(async (name) => {
      const text = await readFile(join(MONITORING, 'dashboards', name), 'utf8')
      const { panels } = JSON.parse(text) as { readonly panels: readonly Panel[] }
      return panels.flatMap(({ title, targets: each }) =>
        each.map(({ expr }) => ({ from: `${name}: ${title}`, expr })),
      )
    }),
  )
  return ofBoards.flat()
}

test('alerts and dashboards name only metrics that are there', async () => {
  const rules = parse(await readFile(join(MONITORING, 'rules.yaml'), 'utf8')) as {
    readonly groups: readonly { readonly rules: readonly { readonly expr: string }[] }[]
  }
  const all = [
    ...(await expressions()).map(({ expr }) => expr),
    ...rules.groups.flatMap(({ rules: each }) => each.map(({ expr }) => expr)),
  ]
  const known = await metricNames()
  const named = all.flatMap((expr) => expr.replaceAll(/"[^"]*"/g, '""').match(METRIC) ?? [])

  expect(all.length).toBeGreaterThan(90)
  expect(named.filter((name) => !known.has(name) && !known.has(name.replace(SERIES, '')))).toEqual(
    [],
  )
})

test.skipIf(isMissing)(
  'every expression of the dashboards has a result in a real Prometheus',
  async () => {
    await expect.poll(async () => (await prometheus.query('up == 1')).length).toBe(1 + 2 + 2 + 1)
    const all = await expressions()
    // A rate needs two figures, one of them after an event.
    await activeServer(cloud, cloud.as('demo'))

    await expect
      .poll(async () => {
        const results = await Promise.all(
          all.map(async ({ from, expr }) => {
            const asked = expr
              .replaceAll('$__rate_interval', '1m')
              .replaceAll(/\$(?:cell|process)/g, '.*')
            return (await prometheus.query(asked)).length > 0 ? [] : [`${from}: ${asked}`]
          }),
        )
        return results.flat()
      })
      .toEqual([])
  },
)

test.skipIf(isMissing)(
  'alerts fire while a cell, a host and the bus of a gateway are away, and not before',
  async () => {
    const firing = () => prometheus.firing()
    // On a machine that is slow for a while a host may be late.
    await expect.poll(firing).toEqual([])

    const [north, south] = cloud.cells
    await north!.processes[0]!.stop()
    await south!.computes[0]!.process.stop()
    await expect
      .poll(firing)
      .toEqual(expect.arrayContaining(['WeirProgramDown', 'WeirCellUnreachable', 'WeirHostDown']))

    cloud.gateways[0]!.wire('GATEWAY_NATS_URL').set('hold')
    await expect.poll(firing).toContain('WeirBusLost')
  },
)
