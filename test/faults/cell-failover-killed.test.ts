import { eq, inArray } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Clock, systemClock } from '#common/clock.ts'
import type { Transactional } from '#common/db/database.ts'
import { type InstanceId, newId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import { RunningReconciler } from '#common/reconciler.ts'
import { waitFor } from '#common/wait-for.ts'
import { FreeAddresses } from '#gateway/app/networks/free-addresses.ts'
import type { Networks } from '#gateway/app/networks/list-networks.ts'
import { nicSpecs } from '#gateway/app/networks/nic-views.ts'
import { serverNics } from '#gateway/app/networks/server-ports.ts'
import { PortKeys } from '#gateway/app/networks/tunnel-keys.ts'
import type { RunningCompute } from '#gateway/app/open-compute.ts'
import { failOverCells } from '#gateway/app/reconcilers/fail-over-cells.ts'
import { deleteServerSaga } from '#gateway/app/sagas/delete-server.ts'
import { embeddedNetwork, planEmbeddedNics } from '#gateway/app/servers/boot/embedded-network.ts'
import { startServers } from '#gateway/app/servers/boot/start-servers.ts'
import type { CellAccess } from '#gateway/cell-client/cell-access.ts'
import { listCellMappings } from '#gateway/db/cell-mappings.ts'
import { movesOf } from '#gateway/db/drain-moves.ts'
import { unneededSnapshots } from '#gateway/db/image-snapshots.ts'
import { findMapping } from '#gateway/db/instance-mappings.ts'
import { usagesOf } from '#gateway/db/quota-usages.ts'
import { cellMappings } from '#gateway/db/schema/cells.ts'
import { images } from '#gateway/db/schema/image.ts'
import { operations } from '#gateway/db/schema/operations.ts'
import { CoreEnv, NO_IMAGES, orderFor, work } from '../env/compute-core.ts'
import { isFullRun } from '../env/full-run.ts'
import { type Death, KilledDatabase } from '../env/killed-database.ts'
import { createNetwork, createPort, createSubnet } from '../env/network-objects.ts'
import { HONEST_SUMMARY, type ScriptedCell } from '../env/scripted-cell.ts'

// Goal: whenever the gateway that lets a cell fail over is killed, the next one ends it: each server is built once elsewhere,
// from what it is to be built from, with the ports and the quota that it has, and the cell serves none of them when it is back.

const LIMIT_MS = 30_000
const TRIAL_MS = 60_000
const DEADLINE_MS = 400
/** How much faster the clock of the gateways runs, and they with it. */
const HASTE = 60
const SLEEP_HASTE = 20
/** Of every object that a failover changes, and of its sagas. */
const COUNTS =
  /\b(instance_mappings|operations|drain_moves|sagas|lost_at|request_specs|server_index)\b/
/** A failover has 38, and some more on a busy machine, where gateways note its progress more often. */
const COMMITS_MAX = 64
const COMMITS_MIN = 30
const NEVER = 1_000
/** One of them is tried in every run. */
const TRIALS: readonly Omit<Death, 'counts'>[] = isFullRun
  ? Array.from({ length: COMMITS_MAX }, (_, nth) => nth + 1).flatMap((atCommit) => [
      { atCommit, when: 'before' },
      { atCommit, when: 'after' },
    ])
  : [{ atCommit: 20, when: 'after' }]
const log = createLogger('killed', process.env['TEST_LOG'] ?? 'silent')

const began = { at: Date.now(), elapsed: performance.now() }
const clock: Clock = {
  now: () => began.at + (performance.now() - began.elapsed) * HASTE,
  elapsed: () => performance.now(),
  sleep: (ms, signal) => systemClock.sleep(ms / SLEEP_HASTE, signal),
}

/** The bus is that of the test, which shuts no cell out. */
const access = { require: () => {}, revoke: async () => {}, keep: async () => {} }

/** Of every gateway of these tests: none waits for the leases of one before it. */
const processName = 'gateway-1'
let env: CoreEnv
let networks: Networks
let north: ScriptedCell
let south: ScriptedCell

beforeAll(async () => {
  env = await CoreEnv.open('failover_killed', ['north', 'south'])
  ;[north, south] = env.cells as [ScriptedCell, ScriptedCell]
  const keys = { freeAddresses: new FreeAddresses(systemClock), portKeys: new PortKeys() }
  networks = { db: env.db, clock: systemClock, ...keys, mtuMax: 1_500 }
  north.summary = { ...HONEST_SUMMARY, fenceAfterS: 1 }
})
afterAll(() => env?.[Symbol.asyncDispose]())

/** A gateway with the failover of cells. */
async function gateway(
  db: Transactional,
  hears: readonly ScriptedCell[],
): Promise<{ readonly core: RunningCompute } & AsyncDisposable> {
  await using parts = new AsyncDisposableStack()
  const network = embeddedNetwork(networks)
  const tidied = { ...NO_IMAGES, tidy: () => tidy(db) }
  const times = { clock, cellDeadlineMs: DEADLINE_MS }
  const how = { db, processName, hears, network, images: tidied, ...times, log }
  const core = parts.use(await env.core(how))
  const failover = failOverCells(
    { compute: core, access: access as unknown as CellAccess },
    processName,
  )
  parts.use(new RunningReconciler(failover, clock, log))
  const owned = parts.move()
  return { core, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** As the image service does, whose images have contents. */
async function tidy(db: Transactional): Promise<number> {
  const ids = await unneededSnapshots(db, 1_000)
  if (ids.length > 0) await db.orm.delete(images).where(inArray(images.id, [...ids]))
  return ids.length
}

type Kind = 'plain' | 'saved' | 'shelved' | 'young' | 'leaving'
const KINDS: readonly Kind[] = ['plain', 'saved', 'shelved', 'young', 'leaving']

/** Servers of the northern cell, one of each kind, with a port each. */
interface World {
  readonly projectId: string
  readonly ids: Readonly<Record<Kind, InstanceId>>
  /** What the builds of those that stay are to have. */
  readonly nics: ReadonlyMap<string, unknown>
  readonly images: Readonly<Record<Exclude<Kind, 'leaving'>, string>>
}

async function addImage(id: string, change: Partial<typeof images.$inferInsert>): Promise<string> {
  const now = new Date()
  await env.db.orm.insert(images).values({
    ...{ id, name: 'saved', status: 'active', visibility: 'private', owner: 'p', sizeBytes: 1 },
    ...{ diskFormat: 'qcow2', containerFormat: 'bare', virtualSizeBytes: 1, revision: 1 },
    ...{ md5: '0'.repeat(32), sha256: '1'.repeat(64), sha512: '2'.repeat(128) },
    ...{ minDiskGb: 0, minRamMb: 0, isProtected: false, isHidden: false },
    ...{ properties: { hypervisor_type: 'fake' }, createdAt: now, updatedAt: now, ...change },
  })
  return id
}

async function world(core: RunningCompute): Promise<World> {
  const projectId = newId<string>().replaceAll('-', '')
  const owner = { projectId, isAdmin: false }
  const network = await createNetwork(networks, owner, {})
  const draft = { network_id: network.id, cidr: '10.1.0.0/16', ip_version: 4 } as const
  await createSubnet(networks, owner, draft)
  await createPort(networks, owner, { network_id: network.id })
  const ids = new Map<Kind, InstanceId>()
  const own = new Map<Kind, string>()
  for (const kind of KINDS) {
    const request = { networks: [{ networkId: network.id }], securityGroups: [], serversMax: 1 }
    const nics = await planEmbeddedNics(networks, owner, request)
    const order = orderFor(north, { projectId, nics })
    const [{ row, spec }] = order.servers as [(typeof order.servers)[number]]
    ids.set(kind, row.id)
    own.set(kind, await addImage(spec.image.id, { name: 'tiny', visibility: 'public' }))
    north.isPrompt = kind !== 'young'
    const [run] = await startServers(core, work(), order)
    await run!.finished
    const state = kind === 'young' ? 'building' : 'active'
    await env.until(row.id, ({ vmState, host }) => vmState === state && host !== null)
  }
  const id = Object.fromEntries(ids) as Record<Kind, InstanceId>
  const saved = {
    owner: projectId,
    properties: { hypervisor_type: 'fake', image_type: 'snapshot' },
  }
  const of = (kind: Kind, change: Partial<typeof images.$inferInsert> = {}) =>
    addImage(newId<string>(), {
      ...{ ...saved, properties: { ...saved.properties, instance_uuid: id[kind] } },
      ...change,
    })
  const nowhere = { hostId: null, host: null, hypervisorHostname: null }
  const view = north.change(id.shelved, { vmState: 'shelved_offloaded', powerState: 0, ...nowhere })
  north.emit([{ kind: 'instance', view }])
  await env.until(id.shelved, ({ vmState }) => vmState === 'shelved_offloaded')
  const built = {
    ...{ plain: own.get('plain')!, young: own.get('young')! },
    saved: await of('saved'),
    shelved: await of('shelved', { snapshotOf: id.shelved, snapshotFor: 'shelve' }),
  }
  const nics = new Map<string, unknown>()
  for (const each of ids.values())
    nics.set(each, JSON.parse(JSON.stringify(nicSpecs(await serverNics(env.db, each)))))
  return { projectId, ids: id, nics, images: built }
}

async function lossOf(cell: ScriptedCell) {
  const mappings = await listCellMappings(env.db)
  return mappings.find(({ id }) => id === cell.id)?.loss
}

const recoveries = () =>
  env.db.orm.select().from(operations).where(eq(operations.kind, 'cell-recovery'))

/** Resolves once the servers run in the other cell, and the lost one is back. */
async function failedOver({ ids }: World, before: number): Promise<void> {
  await waitFor(
    'the recovery to end',
    async () => {
      const ended = (await recoveries()).filter(({ state }) => state !== 'running')
      return ended.length > before
    },
    LIMIT_MS,
  )
  for (const kind of ['plain', 'saved', 'shelved', 'young'] as const)
    await env.until(ids[kind], (is) => is.vmState === 'active' && is.cellId === south.id)
  await env.until(ids.leaving, ({ deletedAt }) => deletedAt !== null)
  north.appear()
  await waitFor('the cell to serve again', async () => (await lossOf(north)) === null, LIMIT_MS)
}

async function expectWhole(it: World, before: number): Promise<void> {
  const { ids, projectId } = it
  const ran = Object.values(it.ids).filter((id) => id !== ids.leaving)
  for (const id of ran) {
    // Taken from the lost cell by one attempt, and given to the other by the next. Its saga ends after the cell has told of it.
    await expect
      .poll(() => findMapping(env.db, id), { timeout: LIMIT_MS })
      .toMatchObject({ cellId: south.id, attempt: 3, sagaId: null, isNotBuilt: false })
    const builds = south.builds.filter(({ operation }) => operation.serverId === id)
    expect(new Set(builds.map(({ operation }) => operation.attempt))).toEqual(new Set([3]))
    expect(new Set(builds.map(({ operation }) => operation.id)).size).toBe(1)
    expect(JSON.parse(JSON.stringify(nicSpecs(await serverNics(env.db, id))))).toEqual(
      it.nics.get(id),
    )
    expect(builds[0]!.build.nics).toEqual(it.nics.get(id))
    expect(south.views.get(id)).toMatchObject({ attempt: 3, vmState: 'active' })
    expect(north.views.has(id)).toBe(false)
  }
  for (const kind of ['plain', 'saved', 'shelved', 'young'] as const) {
    const built = south.builds.find(({ operation }) => operation.serverId === ids[kind])
    expect(built?.build.image.id, kind).toBe(it.images[kind])
  }
  expect(north.views.has(ids.leaving)).toBe(false)
  expect(south.views.has(ids.leaving)).toBe(false)
  expect(await serverNics(env.db, ids.leaving)).toEqual([])
  const used = { instances: 4, cores: 4, ram: 4 * 128 }
  expect(Object.fromEntries(await usagesOf(env.db, projectId))).toMatchObject(used)

  const begun = (await recoveries()).toSorted((a, b) => Number(a.startedAt) - Number(b.startedAt))
  expect(begun).toHaveLength(before + 1)
  expect(begun.at(-1)).toMatchObject({ state: 'done', remaining: 0 })
  const moves = await movesOf(env.db, begun.at(-1)!.id)
  expect(new Map(moves.map((move) => [move.serverId, move.state]))).toEqual(
    new Map([ids.plain, ids.saved, ids.shelved].map((id) => [id, 'moved'])),
  )
  // Once the server runs, nothing needs the image that it was kept in.
  const ofShelved = eq(images.id, it.images.shelved)
  await expect.poll(() => env.db.orm.$count(images, ofShelved), { timeout: LIMIT_MS }).toBe(0)
}

/** Afterwards gateways let the cell fail over so soon; null: never, however long a busy machine keeps it silent. */
const failOverAfter = (recoverAfterS: number | null) =>
  env.db.orm.update(cellMappings).set({ recoverAfterS }).where(eq(cellMappings.id, north.id))

/** Afterwards the gateway is about to let the cell fail over, while it deletes a server there. */
async function loseNorth(core: RunningCompute, { ids }: World): Promise<void> {
  await north.vanish()
  await waitFor('the cell to be unreachable', () => core.cells.isUnreachable(north.id), LIMIT_MS)
  const leaving = { serverId: ids.leaving, operationId: newId<string>(), requester: null }
  const start = { subject: ids.leaving, params: leaving, work: work() }
  await core.sagas.start(deleteServerSaga, start)
  await failOverAfter(1)
}

/** How many commits there were: fewer than asked for where the failover was over before. */
async function trial(death: Omit<Death, 'counts'>): Promise<number> {
  const before = (await recoveries()).length
  const killed = new KilledDatabase(env.db)
  let it: World
  let over: Promise<void>
  await failOverAfter(null)
  {
    await using doomed = await gateway(killed, env.cells)
    it = await world(doomed.core)
    await loseNorth(doomed.core, it)
    killed.arm({ ...death, counts: COUNTS })
    over = failedOver(it, before)
    await Promise.race([killed.died, over])
    if (!killed.isDead) await expectWhole(it, before)
  }
  if (killed.isDead) {
    await using _heir = await gateway(env.db, [south])
    await over
    await expectWhole(it, before)
  }
  return killed.commits
}

test.each(TRIALS)(
  'a gateway that is killed $when commit $atCommit of a failover leaves it to the next',
  async (death) => {
    try {
      await trial(death)
    } catch (error) {
      // The next trial needs the cell.
      await north.vanish()
      north.appear()
      throw error
    }
  },
  TRIAL_MS,
)

test(
  'a server that no cell takes at first is not given up',
  async () => {
    const before = (await recoveries()).length
    await failOverAfter(null)
    await using running = await gateway(env.db, env.cells)
    const it = await world(running.core)
    let refusals = 0
    south.decide = ({ operation }) => {
      if (operation.serverId !== it.ids.plain || refusals > 0) return 'accepted'
      refusals += 1
      return 'refused'
    }
    await loseNorth(running.core, it)

    await failedOver(it, before)

    expect(refusals).toBe(1)
    expect((await recoveries()).filter(({ state }) => state === 'done')).toHaveLength(before + 1)
  },
  TRIAL_MS,
)

test.runIf(isFullRun)(
  'a failover without a kill has as many commits',
  async () => {
    expect(await trial({ atCommit: NEVER, when: 'after' })).toBeGreaterThan(COMMITS_MIN)
  },
  TRIAL_MS,
)
