import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Executor } from '#common/db/database.ts'
import { waitFor } from '#common/wait-for.ts'
import { chooseCells } from '#gateway/app/servers/boot/choose-cells.ts'
import { HeldRoom } from '#gateway/app/servers/boot/held-room.ts'
import { listHosts } from '#gateway/db/host-list.ts'
import type { HostView } from '#openapi/wire/host.ts'
import { activeServer } from '../env/active-server.ts'
import { type BootWorld, bootWorld } from '../env/boot-world.ts'
import type { ApiClient } from '../env/compute-api.ts'
import { sampleBuild } from '../env/sample-build.ts'
import { sampleHost } from '../env/sample-host.ts'
import { HONEST_SUMMARY } from '../env/scripted-cell.ts'

// Goal: a change of a host, by an operator or by itself, counts for the next boot, even if the cell's last summary is older.

const WAIT_MS = 30_000

let world: BootWorld
let user: ApiClient
let view: HostView

beforeAll(async () => {
  world = await bootWorld('hosts_lag')
  user = await world.api.user('alice', 'blue', 'member')
  view = sampleHost('north-host-1')
  // From then on the cell's feed is applied.
  await activeServer(world, user)
})
afterAll(() => world?.[Symbol.asyncDispose]())
beforeEach(() => shown({}))

/** Afterwards the index shows the host so, and the cell's heartbeats still say `summary`. */
async function shown(change: Partial<HostView>, summary: object = {}): Promise<void> {
  world.cell.summary = { ...HONEST_SUMMARY, ...summary }
  await world.cell.beatAndFlush()
  view = { ...view, ...change, version: view.version + 1 }
  world.cell.emit([{ kind: 'host', view }])
  const { db } = world.api.gateway
  const isIndexed = async () =>
    (await listHosts(db)).some((host) => host.view.version >= view.version)
  await waitFor('the host to be indexed', isIndexed, WAIT_MS)
  const { cells } = world.api.gateway.compute
  const { hostsUp } = world.cell.summary
  await waitFor('the summary', () => cells.cells()[0]?.summary?.hostsUp === hostsUp, WAIT_MS)
}

async function boot(change: Readonly<Record<string, unknown>> = {}) {
  return user.call<{ readonly server: { readonly id: string } }>('createServer', {
    body: world.body(change),
  })
}

const isActive = (id: string) => world.until(id, ({ vmState }) => vmState === 'active')

test('a host that the index shows as up is tried, even if the summary has no host', async () => {
  await shown({ isUp: true }, { hostsUp: 0 })

  const { status, body } = await boot()

  expect(status).toBe(202)
  await isActive(body.server.id)
})

test('a zone that a host was just put in is available, though the summary does not have it', async () => {
  await shown({ isUp: true, zone: 'fresh' })

  const { status, body } = await boot({ availability_zone: 'fresh' })

  expect(status).toBe(202)
  await isActive(body.server.id)
  expect((await boot({ availability_zone: 'unheard-of' })).status).toBe(400)
})

test('hosts that were up a short while ago are waited for, and not for ever', async () => {
  await shown({ isUp: false, down: 'not heard' }, { hostsUp: 0 })

  expect((await boot()).status).toBe(503)
  const booting = boot()
  await shown({ isUp: true, down: null }, { hostsUp: 0 })
  const { status, body } = await booting

  expect(status).toBe(202)
  await isActive(body.server.id)
})

test('a host that comes back right after it was passed over is found', async () => {
  await shown({ isUp: false, down: 'not heard' }, { hostsUp: 0 })
  const { db, compute } = world.api.gateway
  let reads = 0
  const rows: Executor['rows'] = async <Row>(...asked: Parameters<Executor['rows']>) => {
    const found = await db.rows<Row>(...asked)
    const isOfHosts = found.some((row) => Object.hasOwn(row as object, 'is_forced_down'))
    if (isOfHosts && (reads += 1) === 1) await shown({ isUp: true, down: null }, { hostsUp: 0 })
    return found
  }
  const { flavor, image } = sampleBuild()
  const anywhere = {
    zone: null,
    requestedHost: null,
    group: null,
    sameHost: undefined,
    cellHints: {},
    hints: {},
    policy: null,
  }
  const required = { flavor, image, ...anywhere, networks: [] }

  const passing: Executor = { orm: db.orm, run: (...asked) => db.run(...asked), rows }
  const [choice] = await chooseCells(compute, passing, required, {
    count: 1,
    fitting: new Map(),
    room: new HeldRoom(compute),
  })

  expect(reads).toBeGreaterThan(1)
  expect(choice?.chosen?.id).toBe(world.cell.id)
})

test('a host that was declared down is not waited for', async () => {
  await shown({ isUp: false, isForcedDown: true }, { hostsUp: 0 })

  const { status, body } = await boot()

  expect(status).toBe(202)
  await world.until(body.server.id, ({ vmState }) => vmState === 'error')
  await shown({ isUp: true, isForcedDown: false })
})
