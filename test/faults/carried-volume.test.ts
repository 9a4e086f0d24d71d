import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type AttachmentId, type InstanceId, newId } from '#common/ids.ts'
import { findOperatedCell } from '#gateway/app/cells/operated-cells.ts'
import { forecastRecovery } from '#gateway/app/operations/forecast-recovery.ts'
import { operatorOf } from '#gateway/app/operations/operator-of.ts'
import { type MoveVolumeParams, moveVolumeSaga } from '#gateway/app/sagas/move-volume.ts'
import { unshelveServer } from '#gateway/app/servers/acts/unshelve-server.ts'
import { rebuildUnplaced } from '#gateway/app/servers/boot/rebuild-unplaced.ts'
import { releaseVolumes } from '#gateway/app/volumes/hold-volume.ts'
import { insertLoss } from '#gateway/db/lost-cells.ts'
import { findRequestSpec } from '#gateway/db/request-specs.ts'
import { volumeAttachments } from '#gateway/db/schema/volumes.ts'
import {
  attachmentsOfVolumes,
  queueAttachment,
  queueRemoveAttachment,
} from '#gateway/db/volume-attachments.ts'
import { findVolume } from '#gateway/db/volumes.ts'
import { work } from '../env/compute-core.ts'
import { VolumeMoveWorld } from './volume-move-world.ts'

// No guest writes to a volume while its server takes it along.

let world: VolumeMoveWorld

beforeAll(async () => {
  world = await VolumeMoveWorld.open('carried_volume')
})
beforeEach(() => world.reset())
afterAll(() => world?.[Symbol.asyncDispose]())

async function move(params: MoveVolumeParams): Promise<void> {
  const start = { subject: params.volumeId, params, work: work() }
  await (await world.core.sagas.start(moveVolumeSaga, start)).finished
}

test('a volume does not move while its server runs, or another server uses it too', async () => {
  const params = await world.carried()
  const start = { subject: params.volumeId, params, work: work() }
  const begin = () => world.core.sagas.start(moveVolumeSaga, start)
  const other = newId<InstanceId>()

  await world.showServer(params.carrierId, 'active')
  await expect(begin()).rejects.toThrow('is being changed by another request')
  await world.showServer(params.carrierId, 'shelved_offloaded')
  await expect(
    world.core.sagas.start(moveVolumeSaga, { ...start, params: { ...params, carrierId: other } }),
  ).rejects.toThrow('is being changed by another request')
  const id = newId<AttachmentId>()
  await world.env.db.transaction(async (tx) => {
    const how = { tag: null, deletesVolume: false, isRoot: false, device: null }
    const held = { ...how, id, volumeId: params.volumeId, serverId: other }
    queueAttachment(tx, held, () => new Error('held'))
  })
  await expect(begin()).rejects.toThrow(`server ${other} uses it too`)

  await world.env.db.transaction(async (tx) => queueRemoveAttachment(tx, id))
  await (await begin()).finished
  await world.expectIn(world.south, params, 2, 'in-use')
})

test('a server is not started while its volume moves, or once that is in another cell', async () => {
  const params = await world.carried()
  const { south } = world
  const { overrides } = south
  const refusals: string[] = []
  const unshelve = () =>
    unshelveServer(world.core, operatorOf({ userId: 'u' }), params.carrierId, {
      ...{ zone: undefined, host: null },
    }).catch((error: Error) => refusals.push(error.message))
  south.overrides = {
    ...overrides,
    'volume.create': async (ask) => {
      await unshelve()
      return overrides['volume.create']!(ask)
    },
  }

  await move(params)
  await unshelve()

  expect(refusals).toHaveLength(2)
  for (const message of refusals) expect(message).toContain('is on its way to another cell')
  await world.expectIn(world.south, params, 2, 'in-use')
})

test('a volume whose server is deleted on its way is free in the other cell', async () => {
  const params = await world.carried()
  const { south } = world
  const { overrides } = south
  south.overrides = {
    ...overrides,
    'volume.create': async (ask) => {
      await world.env.db.transaction((tx) => releaseVolumes(tx, [params.carrierId]))
      return overrides['volume.create']!(ask)
    },
  }

  await move(params)

  await world.expectIn(world.south, params, 2)
})

// The northern cell does not come back.
test('a server whose cell is lost is built again without the volume that had left it, which is free', async () => {
  const { core, env, north, south } = world
  const params = await world.carried({ isRoot: true })
  const { carrierId, volumeId } = params
  await move(params)
  await env.db.orm
    .update(volumeAttachments)
    .set({ deletesVolume: true })
    .where(eq(volumeAttachments.volumeId, volumeId))

  await north.vanish()
  const loss = { by: 'operator', statement: 'Its power was cut.' }
  await env.db.transaction((tx) => insertLoss(tx, north.id, loss))
  const shown = await env.until(carrierId, ({ vmState }) => vmState === 'error')
  const cell = await findOperatedCell(env.db, core.cells, north.id)
  const { servers } = await forecastRecovery(core, cell, 'image')
  expect(servers.find(({ server }) => server.id === carrierId)?.reason).toBe(
    `It starts from volume ${volumeId}, which had left the cell before. Delete the server, and create one from that volume.`,
  )

  const request = (await findRequestSpec(env.db, carrierId))!
  const { id, projectId, ...was } = shown
  const owner = { ...operatorOf({ userId: 'u' }), projectId: projectId as never }
  await rebuildUnplaced(core, owner, shown, { ...request, shown: was })

  await env.until(id, ({ vmState, cellId }) => vmState === 'active' && cellId === south.id)
  expect(south.builds.at(-1)!.build.volumes).toBeUndefined()
  const free = { status: 'available', isDeleting: false, cellId: south.id }
  expect(await findVolume(env.db, volumeId)).toMatchObject(free)
  expect(await attachmentsOfVolumes(env.db, [volumeId])).toEqual([])
})
