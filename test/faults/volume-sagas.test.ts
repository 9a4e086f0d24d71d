import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import type { Tx } from '#common/db/database.ts'
import { newId, type SagaId, type VolumeId, type VolumeSnapshotId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import { SagaEngine } from '#common/saga/engine.ts'
import type { Saga, SagaOutcome } from '#common/saga/saga.ts'
import { trialsOf } from '#common/saga/testing.ts'
import { waitFor } from '#common/wait-for.ts'
import type { ComputeDeps } from '#gateway/app/compute.ts'
import type { RunningCompute } from '#gateway/app/open-compute.ts'
import { createVolumeSaga } from '#gateway/app/sagas/create-volume.ts'
import { createVolumeSnapshotSaga } from '#gateway/app/sagas/create-volume-snapshot.ts'
import { deleteVolumeSaga } from '#gateway/app/sagas/delete-volume.ts'
import { deleteVolumeSnapshotSaga } from '#gateway/app/sagas/delete-volume-snapshot.ts'
import { extendVolumeSaga } from '#gateway/app/sagas/extend-volume.ts'
import { reimageVolumeSaga } from '#gateway/app/sagas/reimage-volume.ts'
import { revertVolumeSaga } from '#gateway/app/sagas/revert-volume.ts'
import { uploadVolumeSaga } from '#gateway/app/sagas/upload-volume.ts'
import { chargeVolumes } from '#gateway/app/volumes/quotas.ts'
import { volumeQuotaRows } from '#gateway/db/volume-quotas.ts'
import { findSnapshot, insertSnapshot } from '#gateway/db/volume-snapshots.ts'
import { findVolume, insertVolume } from '#gateway/db/volumes.ts'
import type { StoreSummary } from '#openapi/wire/cell-volume.ts'
import { CoreEnv, work } from '../env/compute-core.ts'
import { HONEST_SUMMARY, type ScriptedCell } from '../env/scripted-cell.ts'

// The standard trials of the gateway's sagas of volumes and snapshots: each ends with what was asked for, charged once.

const log = createLogger('trial', 'silent')
const STORE: StoreSummary = {
  ...{ id: 's', name: 's', engine: 'dir', zones: ['nova'], isUp: true, multiattach: false },
  ...{ totalGb: 10, freeGb: 10, promisedGb: 0 },
}
let env: CoreEnv
let core: RunningCompute
let projectId: string

beforeAll(async () => {
  env = await CoreEnv.open('volume_sagas', ['north', 'south'])
  await env.cells[1]!.vanish()
  core = await env.core({ cellDeadlineMs: 1_000, hears: [env.cells[0]!] })
  const named = { storeId: 's', storeName: 's', zone: 'nova', fault: null, updatedAt: 1 }
  const view = (volumeId: string, version: number, sizeGb: number) => {
    return { ...named, volumeId, attempt: 1, version, state: 'available' as const, sizeGb }
  }
  const create: ScriptedCell['overrides']['volume.create'] = ({ operation, volume }) => {
    const { volumeId, attempt } = operation
    return { outcome: 'accepted', view: { ...view(volumeId, 2, volume.sizeGb), attempt } }
  }
  env.cells[1]!.overrides = { 'volume.create': create }
  env.cells[1]!.summary = { ...HONEST_SUMMARY, stores: [STORE] }
  env.cells[0]!.overrides = {
    'volume.create': create,
    'volume.extend': ({ operation, sizeGb }) => ({ view: view(operation.volumeId, 4, sizeGb) }),
    'volume.upload': ({ operation }) => ({ view: view(operation.volumeId, 4, 3) }),
    'volume.revert': ({ operation }) => ({ view: view(operation.volumeId, 4, 3) }),
    'volume.reimage': ({ operation, image: { id: imageId } }) => ({
      view: { ...view(operation.volumeId, 4, 3), imageId },
    }),
    'volume.delete': () => ({ outcome: 'deleted' }),
    'volume-snapshot.create': ({ operation: { snapshotId } }) => {
      const made = { snapshotId, version: 2, state: 'available', sizeGb: 3 } as const
      return { outcome: 'accepted', view: { ...made, fault: null, updatedAt: 1 } }
    },
    'volume-snapshot.delete': () => ({ outcome: 'deleted' }),
  }
  // The other one is silent.
  await env.untilResynced(core, [env.cells[0]!])
})
beforeEach(() => {
  projectId = newId<string>()
})
afterAll(async () => {
  await core?.[Symbol.asyncDispose]()
  await env?.[Symbol.asyncDispose]()
})

type Around = {
  readonly before?: (tx: Tx) => Promise<void>
  readonly after?: (tx: Tx) => Promise<void>
}

/** Runs a changed saga; returns how it ended. */
async function run<P>(
  saga: Saga<ComputeDeps, P>,
  subject: string,
  params: P,
  { id, ...around }: Around & { readonly id?: SagaId } = {},
): Promise<SagaOutcome | 'handed-over'> {
  await using sagas = await SagaEngine.open({
    ...{ db: env.db, deps: core as ComputeDeps, sagas: [saga], processName: newId<string>() },
    ...{ clock: systemClock, log },
  })
  const started = await sagas
    .start(saga, { ...(id && { id }), subject, params, work: work(), ...around })
    .catch(() => undefined)
  return started === undefined ? 'unwound' : await started.finished
}

const owner = () => ({ projectId, typeId: null })

async function createdVolume(saga = createVolumeSaga): Promise<VolumeId> {
  const { volumeId, ended } = await startedVolume(saga)
  expect(ended).toBe('done')
  return volumeId
}

async function startedVolume(saga = createVolumeSaga) {
  const volumeId = newId<VolumeId>()
  const cellId = env.cells[0]!.id
  const id = newId<SagaId>()
  const operationIds = Array.from({ length: 5 }, () => newId<string>())
  const ended = await run(
    saga,
    volumeId,
    { volumeId, cellId, operationIds },
    {
      id,
      before: (tx) =>
        insertVolume(tx, {
          ...{
            id: volumeId,
            projectId,
            userId: 'user',
            name: null,
            description: null,
            metadata: {},
          },
          ...{ typeId: null, specs: {}, zone: null, sizeGb: 3, isBootable: false },
          encryption: null,
          ...{ isMultiattach: false, source: null, imageMetadata: null, cellId, fault: null },
          ...{ status: 'creating', sagaId: id },
        }),
      after: (tx) => chargeVolumes(tx, owner(), { volumes: 1, gigabytes: 3 }),
    },
  )
  return { volumeId, ended }
}

async function createdSnapshot(saga = createVolumeSnapshotSaga): Promise<VolumeSnapshotId> {
  const volumeId = await createdVolume()
  const snapshotId = newId<VolumeSnapshotId>()
  const cellId = env.cells[0]!.id
  const id = newId<SagaId>()
  const named = { name: null, description: null, metadata: {}, typeId: null, sizeGb: 3 }
  const ended = await run(
    saga,
    snapshotId,
    { snapshotId, operationId: newId<string>() },
    {
      id,
      before: (tx) =>
        insertSnapshot(tx, {
          ...{ id: snapshotId, projectId, userId: 'user', volumeId, cellId, sagaId: id, ...named },
        }),
      after: (tx) => chargeVolumes(tx, owner(), { snapshots: 1, gigabytes: 3 }),
    },
  )
  expect(ended).toBe('done')
  return snapshotId
}

async function used(): Promise<Readonly<Record<string, number>>> {
  const rows = await volumeQuotaRows(env.db, projectId)
  return Object.fromEntries(rows.map((row) => [row.resource, row.used]))
}

const labelled = <T extends { readonly label: string }>(trials: readonly T[]) =>
  trials.map((trial) => [trial.label, trial] as const)
const firstRound = (step: string) => step.endsWith('-1')

test.each(labelled(trialsOf(createVolumeSaga, firstRound)))(
  'create-volume that %s makes one volume',
  async (_label, { saga }) => {
    const id = await createdVolume(saga)

    expect(await findVolume(env.db, id)).toMatchObject({ status: 'available', sagaId: null })
    expect(await used()).toEqual({ volumes: 1, gigabytes: 3 })
  },
)

test.each(labelled(trialsOf(extendVolumeSaga)))(
  'extend-volume that %s leaves the volume whole, with what it is charged for',
  async (_label, { saga, ends }) => {
    const volumeId = await createdVolume()
    const params = { volumeId, operationId: newId<string>(), fromGb: 3, toGb: 5 }
    const after = (tx: Tx) => chargeVolumes(tx, owner(), { gigabytes: 2 })

    expect(await run(saga, volumeId, params, { after })).toBe(ends)

    const sizeGb = ends === 'done' ? 5 : 3
    const volume = await findVolume(env.db, volumeId)
    expect(volume).toMatchObject({ status: 'available', sagaId: null, sizeGb, chargedGb: sizeGb })
    expect(await used()).toEqual({ volumes: 1, gigabytes: sizeGb })
  },
)

test.each(labelled(trialsOf(uploadVolumeSaga)))(
  'upload-volume that %s leaves the volume as it was',
  async (_label, { saga, ends }) => {
    const volumeId = await createdVolume()
    const order = {
      ...({
        imageId: newId<string>(),
        sourceId: volumeId,
        purpose: 'volume',
        backupsKept: null,
      } as const),
      ...{ owner: projectId, name: 'image', minDiskGb: 3, minRamMb: 0, properties: {} },
    }
    const params = { volumeId, operationId: newId<string>(), order, diskFormat: 'raw' as const }

    expect(await run(saga, volumeId, params)).toBe(ends)

    const volume = await findVolume(env.db, volumeId)
    expect(volume).toMatchObject({ status: 'available', sagaId: null, sizeGb: 3 })
  },
)

test.each(labelled(trialsOf(revertVolumeSaga)))(
  'revert-volume that %s leaves the volume available',
  async (_label, { saga, ends }) => {
    const volumeId = await createdVolume()
    const snapshotId = newId<VolumeSnapshotId>()
    const params = { volumeId, snapshotId, operationId: newId<string>() }

    expect(await run(saga, volumeId, params)).toBe(ends)

    const volume = await findVolume(env.db, volumeId)
    expect(volume).toMatchObject({ status: 'available', sagaId: null, sizeGb: 3 })
  },
)

test.each(labelled(trialsOf(reimageVolumeSaga)))(
  'reimage-volume that %s leaves the volume available, with what it says of its content',
  async (_label, { saga, ends }) => {
    const volumeId = await createdVolume()
    const id = newId<string>()
    const labels = { name: 'image', minDiskGb: 1, minRamMb: 0, properties: {} }
    const image = { id, sizeBytes: 1, sha256: '0'.repeat(64), diskFormat: 'raw', ...labels }
    const imageMetadata = { image_id: id }
    const params = { volumeId, operationId: newId<string>(), image, imageMetadata }

    expect(await run(saga, volumeId, params)).toBe(ends)

    const volume = await findVolume(env.db, volumeId)
    expect(volume).toMatchObject({
      ...{ status: 'available', sagaId: null, nextImageMetadata: null },
      imageMetadata: ends === 'done' ? imageMetadata : null,
      isBootable: ends === 'done',
    })
  },
)

test.each(labelled(trialsOf(deleteVolumeSaga)))(
  'delete-volume that %s leaves all or nothing',
  async (_label, { saga, ends }) => {
    const volumeId = await createdVolume()
    const params = { volumeId, operationId: newId<string>(), isForced: false }

    expect(await run(saga, volumeId, params)).toBe(ends)

    const isGone = (await findVolume(env.db, volumeId)) === undefined
    expect(isGone).toBe(ends === 'done')
    expect(await used()).toEqual(
      isGone ? { volumes: 0, gigabytes: 0 } : { volumes: 1, gigabytes: 3 },
    )
  },
)

test.each(labelled(trialsOf(createVolumeSnapshotSaga)))(
  'create-volume-snapshot that %s makes one snapshot',
  async (_label, { saga }) => {
    const id = await createdSnapshot(saga)

    expect(await findSnapshot(env.db, id)).toMatchObject({ status: 'available', sagaId: null })
    expect(await used()).toEqual({ volumes: 1, snapshots: 1, gigabytes: 6 })
  },
)

test.each(labelled(trialsOf(deleteVolumeSnapshotSaga)))(
  'delete-volume-snapshot that %s leaves all or nothing',
  async (_label, { saga, ends }) => {
    const snapshotId = await createdSnapshot()
    const params = { snapshotId, operationId: newId<string>(), isForced: false }

    expect(await run(saga, snapshotId, params)).toBe(ends)

    const isGone = (await findSnapshot(env.db, snapshotId)) === undefined
    expect(isGone).toBe(ends === 'done')
    const counts = isGone ? { snapshots: 0, gigabytes: 3 } : { snapshots: 1, gigabytes: 6 }
    expect(await used()).toEqual({ volumes: 1, ...counts })
  },
)

test('deletes that nobody works on any more are brought to their end', async () => {
  const snapshotId = await createdSnapshot()
  const { volumeId } = (await findSnapshot(env.db, snapshotId))!
  for (const table of ['volume_snapshots', 'volumes'])
    await env.db.orm.execute(
      sql`update ${sql.identifier(table)} set is_deleting = true, status = 'deleting', changed_at = '2020-01-01'
        where id in (${snapshotId}, ${volumeId})`,
    )

  await waitFor(
    'both are gone',
    async () => (await findVolume(env.db, volumeId)) === undefined,
    60_000,
  )
  expect(await findSnapshot(env.db, snapshotId)).toBeUndefined()
  expect(await used()).toEqual({ volumes: 0, snapshots: 0, gigabytes: 0 })
})

test('a volume that its cell refuses while no cell is heard is in error once one is heard, and not before', async () => {
  const cell = env.cells[0]!
  const { overrides } = cell
  const isHeard = () => core.cells.cell(cell.id)?.isReachable === true
  const refuse = async () => {
    await waitFor('no cell to be heard', () => !isHeard(), 10_000)
    return { outcome: 'refused', reason: 'No room.' } as const
  }
  cell.overrides = { ...overrides, 'volume.create': refuse }
  cell.stopBeating()

  const { volumeId, ended } = await startedVolume()
  expect(ended).toBe('handed-over')
  expect(await findVolume(env.db, volumeId)).toMatchObject({ status: 'creating', fault: null })
  cell.overrides = {
    ...overrides,
    'volume.create': () => ({ outcome: 'refused', reason: 'No room.' }),
  }
  cell.startBeating()

  const isInError = async () => (await findVolume(env.db, volumeId))?.status === 'error'
  await waitFor('the volume to be in error', isInError, 60_000)
  cell.overrides = overrides
  expect(await findVolume(env.db, volumeId)).toMatchObject({ cellId: null, fault: 'No room.' })
  expect(await used()).toEqual({ volumes: 1, gigabytes: 3 })
})

test('a snapshot that its cell refuses is in error, in no cell, and is deleted at once', async () => {
  const [cell] = env.cells
  const { overrides } = cell!
  cell!.overrides = {
    ...overrides,
    'volume-snapshot.create': () => ({ outcome: 'refused', reason: 'No room.' }),
  }
  const snapshotId = await createdSnapshot()
  cell!.overrides = overrides
  const params = { snapshotId, operationId: newId<string>(), isForced: false }

  expect(await findSnapshot(env.db, snapshotId)).toMatchObject({
    ...{ status: 'error', cellId: null, sagaId: null, fault: 'No room.' },
  })
  expect(await run(deleteVolumeSnapshotSaga, snapshotId, params)).toBe('done')
  expect(await findSnapshot(env.db, snapshotId)).toBeUndefined()
  expect(await used()).toEqual({ volumes: 1, snapshots: 0, gigabytes: 3 })
})

test('a volume that its cell refuses waits for a cell that a gateway which has just begun may hear any moment', async () => {
  const [north, south] = env.cells as [ScriptedCell, ScriptedCell]
  await core[Symbol.asyncDispose]()
  core = await env.core({ cellDeadlineMs: 60_000, hears: [north] })
  const refuse = () => ({ outcome: 'refused', reason: 'No room.' }) as const
  north.overrides = { ...north.overrides, 'volume.create': refuse }

  const { volumeId, ended } = await startedVolume()
  expect(ended).toBe('handed-over')
  expect(await findVolume(env.db, volumeId)).toMatchObject({ status: 'creating', fault: null })
  south.appear()

  const isMade = async () => (await findVolume(env.db, volumeId))?.status === 'available'
  await waitFor('the volume to be available', isMade, 60_000)
  expect(await findVolume(env.db, volumeId)).toMatchObject({ cellId: south.id, attempt: 2 })
})
