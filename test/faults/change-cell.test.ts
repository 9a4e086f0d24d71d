import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { type AttachmentId, type InstanceId, newId, type VolumeId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import { SagaEngine } from '#common/saga/engine.ts'
import { CrashingDatabase, trialsOf } from '#common/saga/testing.ts'
import { takeFromLostCell } from '#gateway/app/cells/take-from-lost-cell.ts'
import type { ComputeDeps } from '#gateway/app/compute.ts'
import type { RunningCompute } from '#gateway/app/open-compute.ts'
import { operationIds } from '#gateway/app/sagas/build-rounds.ts'
import { type ChangeCellParams, changeCellSaga } from '#gateway/app/sagas/change-cell.ts'
import { startServers } from '#gateway/app/servers/boot/start-servers.ts'
import { queueHeldStatus } from '#gateway/db/held-volumes.ts'
import { applyHostViews } from '#gateway/db/host-index.ts'
import { unneededSnapshots } from '#gateway/db/image-snapshots.ts'
import { findMapping } from '#gateway/db/instance-mappings.ts'
import { findRequestSpec } from '#gateway/db/request-specs.ts'
import { images } from '#gateway/db/schema/image.ts'
import { volumes } from '#gateway/db/schema/volumes.ts'
import { beginServerMove, findServerMove } from '#gateway/db/server-moves.ts'
import {
  queueAttached,
  queueAttachment,
  queueServerVolumes,
} from '#gateway/db/volume-attachments.ts'
import { findVolume, insertVolume } from '#gateway/db/volumes.ts'
import { CoreEnv, orderFor, work } from '../env/compute-core.ts'
import { sampleHost } from '../env/sample-host.ts'
import type { ScriptedCell } from '../env/scripted-cell.ts'

// A server that changes cells is in one of them at any moment, whatever fails and whenever its gateway dies.

const log = createLogger('trial', 'silent')
let env: CoreEnv
let core: RunningCompute
let north: ScriptedCell
/** The host that keeps the disks. */
const keeper = sampleHost('keeper')
let south: ScriptedCell

beforeAll(async () => {
  env = await CoreEnv.open('change_cell', ['north', 'south'])
  core = await env.core()
  ;[north, south] = env.cells as [ScriptedCell, ScriptedCell]
  await env.db.transaction((tx) => applyHostViews(tx, north.id, [keeper]))
})
beforeEach(() => {
  for (const cell of env.cells) cell.decide = () => 'accepted'
})
afterAll(async () => {
  await core?.[Symbol.asyncDispose]()
  await env?.[Symbol.asyncDispose]()
})

interface Offloaded {
  readonly params: ChangeCellParams
  readonly imageId: string
}

/** A server of the northern cell that is on none of its hosts, with its disk in an image that one of them keeps. */
async function offloaded(): Promise<Offloaded> {
  const order = orderFor(north)
  const { id: serverId } = order.servers[0]!.row
  const [run] = await startServers(core, work(), order)
  await run!.finished
  await env.until(serverId, ({ vmState }) => vmState === 'active')
  const nowhere = { hostId: null, host: null, hypervisorHostname: null }
  const view = north.change(serverId, { vmState: 'shelved_offloaded', powerState: 0, ...nowhere })
  north.emit([{ kind: 'instance', view }])
  await env.until(serverId, ({ vmState }) => vmState === 'shelved_offloaded')
  const imageId = newId<string>()
  const digests = { md5: '0'.repeat(32), sha256: '1'.repeat(64), sha512: '2'.repeat(128) }
  await env.db.orm.insert(images).values({
    ...{ id: imageId, name: 'saved', status: 'active', visibility: 'private', owner: 'p' },
    ...{ diskFormat: 'qcow2', containerFormat: 'bare', sizeBytes: 1, virtualSizeBytes: 1 },
    ...{ ...digests, hostId: keeper.hostId },
    ...{ minDiskGb: 0, minRamMb: 0, isProtected: false, isHidden: false },
    properties: { hypervisor_type: 'fake' },
    ...{
      snapshotOf: serverId,
      snapshotFor: 'shelve',
      createdAt: new Date(),
      updatedAt: new Date(),
    },
    revision: 1,
  })
  const cells = { fromCellId: north.id, toCellId: south.id }
  const operations = { deleteOperationId: newId<string>(), operationIds: operationIds() }
  return { imageId, params: { serverId, attempt: 1, ...cells, ...operations } }
}

async function expectIn(cell: ScriptedCell, { params, imageId }: Offloaded, attempt: number) {
  const { serverId } = params
  await env.until(serverId, ({ vmState, cellId }) => vmState === 'active' && cellId === cell.id)
  // The saga settles after the cell has said that the server is active.
  await expect
    .poll(() => findMapping(env.db, serverId))
    .toMatchObject({ cellId: cell.id, attempt, sagaId: null })
  for (const each of env.cells) expect(each.views.has(serverId)).toBe(each === cell)
  const built = cell.builds.filter(({ operation }) => operation.serverId === serverId).at(-1)!
  expect(built.operation.attempt).toBe(attempt)
  expect(built.build.image.id).toBe(imageId)
  // Later rebuilds are made from the image that the user chose.
  expect((await findRequestSpec(env.db, serverId))!.spec.image.name).toBe('tiny')
}

async function expectStillOffloaded({ params }: Offloaded): Promise<void> {
  const { serverId } = params
  const there = { cellId: north.id, attempt: 1, sagaId: null }
  expect(await findMapping(env.db, serverId)).toMatchObject(there)
  expect(await env.server(serverId)).toMatchObject({ vmState: 'shelved_offloaded' })
  expect(south.builds.filter(({ operation }) => operation.serverId === serverId)).toEqual([])
}

const reached = (step: string) => ['reassign', 'leave', 'build-1', 'settle-1'].includes(step)

test.each(trialsOf(changeCellSaga, reached).map((trial) => [trial.label, trial] as const))(
  'change-cell that %s leaves the server in one cell',
  async (_label, trial) => {
    const server = await offloaded()
    await using sagas = await SagaEngine.open({
      ...{
        db: env.db,
        deps: core as ComputeDeps,
        sagas: [trial.saga],
        processName: newId<string>(),
      },
      ...{ clock: systemClock, log },
    })
    const { params } = server

    const outcome = await sagas
      .start(trial.saga, { subject: params.serverId, params, work: work() })
      .then(({ finished }) => finished)
      .catch(() => 'unwound')

    expect(outcome).toBe(trial.ends)
    if (trial.ends === 'done') await expectIn(south, server, 2)
    else await expectStillOffloaded(server)
  },
)

test.each(
  [1, 2, 3].flatMap((dieAt) => (['before', 'after'] as const).map((when) => ({ dieAt, when }))),
)(
  'a gateway that dies $when commit $dieAt leaves the server where it is, or to the next, which ends the move',
  async ({ dieAt, when }) => {
    const server = await offloaded()
    const { params } = server
    const processName = newId<string>()
    const crashing = new CrashingDatabase(env.db, Number.POSITIVE_INFINITY, when)
    {
      await using doomed = await env.core({ db: crashing, processName })
      crashing.dieIn(dieAt)
      await doomed.sagas
        .start(changeCellSaga, { subject: params.serverId, params, work: work() })
        .then(({ finished }) => finished)
        .catch(() => 'never begun')
    }

    // Transactions of its reconcilers count too, so the one that died need not be the move's.
    const isBegun = (await findMapping(env.db, params.serverId))!.attempt > params.attempt
    await using _heir = await env.core({ processName })

    if (isBegun) await expectIn(south, server, 2)
    else await expectStillOffloaded(server)
  },
)

test('a server that the other cell refuses is built in the one it left', async () => {
  const server = await offloaded()
  south.decide = () => 'refused'

  await core.sagas.start(changeCellSaga, {
    ...{ subject: server.params.serverId, params: server.params, work: work() },
  })

  await expectIn(north, server, 3)
})

test('a server that both refuse is in no cell with its image, and goes to the cell that takes it later', async () => {
  const server = await offloaded()
  const { serverId } = server.params
  for (const cell of env.cells) cell.decide = () => 'refused'
  const start = (params: ChangeCellParams) =>
    core.sagas.start(changeCellSaga, { subject: serverId, params, work: work() })

  await (await start(server.params)).finished
  const nowhere = await env.until(serverId, ({ vmState }) => vmState === 'error')
  expect(nowhere).toMatchObject({ cellId: null, attempt: 4 })
  const [image] = await env.db.orm.select().from(images).where(eq(images.id, server.imageId))
  expect(image).toMatchObject({ snapshotOf: serverId, snapshotFor: 'move' })

  south.decide = () => 'accepted'
  const operations = { deleteOperationId: newId<string>(), operationIds: operationIds() }
  await start({ ...server.params, ...operations, attempt: 4, fromCellId: null })
  await expectIn(south, server, 5)
})

test('a server whose cell is lost while it is offloaded goes to the other one with its disk', async () => {
  const server = await offloaded()
  const { serverId } = server.params
  const take = (id: ChangeCellParams['serverId']) =>
    env.db.transaction((tx) => takeFromLostCell(tx, core, core.cells.cell(north.id)!, id))
  await take(serverId)
  await env.until(serverId, ({ vmState, cellId }) => vmState === 'error' && cellId === null)
  expect(await unneededSnapshots(env.db, 1_000)).not.toContain(server.imageId)
  north.views.delete(serverId)

  const params = { ...server.params, attempt: 2, fromCellId: null }
  await core.sagas.start(changeCellSaga, { subject: serverId, params, work: work() })
  await expectIn(south, server, 3)

  const unsaved = await offloaded()
  await env.db.orm.delete(images).where(eq(images.id, unsaved.imageId))
  await take(unsaved.params.serverId)
  const start = { ...unsaved.params, attempt: 2, fromCellId: null }
  await expect(
    core.sagas.start(changeCellSaga, { subject: start.serverId, params: start, work: work() }),
  ).rejects.toMatchObject({
    kind: 'not-found',
    message: expect.stringContaining('was lost before'),
  })

  // The operation that was to move it ends with that.
  const moved = { subjectId: start.serverId, subject: 'vm-0', cellId: north.id, toCellId: south.id }
  const asked = { formerState: 'active', reason: null, userId: 'u', requestId: 'req-1' } as const
  const id = await env.db.transaction((tx) => beginServerMove(tx, { ...moved, ...asked }))
  await expect
    .poll(() => findServerMove(env.db, id), { timeout: 30_000 })
    .toMatchObject({ state: 'failed', message: expect.stringContaining('was lost before') })
})

test('a server goes to the other cell with a disk that the store has, and stays where the host has left that had saved it', async () => {
  const keptBy = async ({ imageId }: Offloaded, hostId: string | null) => {
    await env.db.orm.update(images).set({ hostId }).where(eq(images.id, imageId))
  }
  const start = ({ params }: Offloaded) =>
    core.sagas.start(changeCellSaga, { subject: params.serverId, params, work: work() })
  const stored = await offloaded()
  await keptBy(stored, null)
  await start(stored)
  await expectIn(south, stored, 2)

  const lost = await offloaded()
  await keptBy(lost, newId())
  await expect(start(lost)).rejects.toMatchObject({
    kind: 'not-found',
    message: expect.stringContaining('is lost: host'),
  })
  await expectStillOffloaded(lost)
})

test('a server whose image is gone, or that is not offloaded any more, does not leave its cell', async () => {
  const gone = await offloaded()
  await env.db.orm.delete(images).where(eq(images.id, gone.imageId))
  const back = await offloaded()
  north.emit([{ kind: 'instance', view: north.active(back.params.serverId) }])
  await env.until(back.params.serverId, ({ vmState }) => vmState === 'active')

  for (const [{ params }, message] of [
    [gone, 'was saved in is gone'],
    [back, 'is being changed by another request'],
  ] as const)
    await expect(
      core.sagas.start(changeCellSaga, { subject: params.serverId, params, work: work() }),
    ).rejects.toMatchObject({ kind: 'conflict', message: expect.stringContaining(message) })
  await expectStillOffloaded(gone)
})

/** A volume in the cell that the server has, and that would be deleted with it. */
async function attachedVolume(serverId: InstanceId, cell: ScriptedCell): Promise<VolumeId> {
  const id = newId<VolumeId>()
  await env.db.transaction(async (tx) => {
    await insertVolume(tx, {
      ...{ id, projectId: 'p', userId: 'user', name: null, description: null, metadata: {} },
      ...{ typeId: null, specs: {}, zone: 'nova', sizeGb: 3, isBootable: false },
      ...{ isMultiattach: false, source: null, imageMetadata: null, cellId: cell.id },
      ...{ status: 'available', encryption: null, fault: null, sagaId: null },
    })
    const held = { id: newId<AttachmentId>(), volumeId: id, serverId, tag: null, device: null }
    const how = { ...held, deletesVolume: true, isRoot: false }
    queueAttachment(tx, how, () => new Error('held'))
    queueAttached(tx, held.id)
    queueHeldStatus(tx, id)
    queueServerVolumes(tx, serverId)
  })
  return id
}

test('a server follows its volumes and goes to no other cell, and keeps them where none builds it', async () => {
  const server = await offloaded()
  const { serverId } = server.params
  const volumeId = await attachedVolume(serverId, north)
  const start = (params: ChangeCellParams) =>
    core.sagas.start(changeCellSaga, { subject: serverId, params, work: work() })
  await expect(start(server.params)).rejects.toMatchObject({
    ...{ kind: 'conflict', message: expect.stringContaining(`Volume ${volumeId}`) },
  })
  await expectStillOffloaded(server)
  const is = (cellId: string) =>
    env.db.orm.update(volumes).set({ cellId, attempt: 2 }).where(eq(volumes.id, volumeId))
  await is(south.id)
  south.decide = () => 'refused'

  await (await start(server.params)).finished

  const nowhere = await env.until(serverId, ({ vmState }) => vmState === 'error')
  expect(nowhere).toMatchObject({ cellId: null, attempt: 3, volumes: [{ id: volumeId }] })
  expect(north.builds.filter(({ operation }) => operation.attempt > 1)).not.toContainEqual(
    expect.objectContaining({ operation: expect.objectContaining({ serverId }) }),
  )
  const held = { status: 'in-use', isDeleting: false }
  expect(await findVolume(env.db, volumeId)).toMatchObject(held)

  await is(north.id)
  const operations = { deleteOperationId: newId<string>(), operationIds: operationIds() }
  const back = { attempt: 3, fromCellId: null, toCellId: north.id }
  await (await start({ ...server.params, ...operations, ...back })).finished
  await expectIn(north, server, 4)
  const built = north.builds.at(-1)!.build
  expect(built.volumes).toMatchObject([{ volumeId, volumeAttempt: 2 }])
  expect(await findVolume(env.db, volumeId)).toMatchObject(held)
})
