import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { Failure } from '#common/errors.ts'
import { newId, type VolumeId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import { SagaEngine } from '#common/saga/engine.ts'
import { CrashingDatabase, trialsOf } from '#common/saga/testing.ts'
import type { ComputeDeps } from '#gateway/app/compute.ts'
import type { RunningCompute } from '#gateway/app/open-compute.ts'
import {
  changeEncryptionSaga,
  type MigrateVolumeParams,
  migrateVolumeSaga,
} from '#gateway/app/sagas/migrate-volume.ts'
import { chargeVolumes } from '#gateway/app/volumes/quotas.ts'
import { takeVolumeFromLostCell } from '#gateway/app/volumes/take-from-lost-cell.ts'
import { cancelVolumeMove, runningVolumeMove } from '#gateway/db/volume-moves.ts'
import { volumeQuotaRows } from '#gateway/db/volume-quotas.ts'
import { insertType } from '#gateway/db/volume-types.ts'
import { findVolume, insertVolume, writeLockedVolume } from '#gateway/db/volumes.ts'
import type { CellAsk } from '#openapi/wire/cell.ts'
import type { VolumeView } from '#openapi/wire/cell-volume.ts'
import { CoreEnv, work } from '../env/compute-core.ts'
import type { ScriptedCell } from '../env/scripted-cell.ts'

// A volume that changes stores for its type has the store and the type together, or neither, and is charged for once, whatever
// fails and whenever its gateway dies.

const LIMIT_MS = 60_000
const log = createLogger('trial', 'silent')
let env: CoreEnv
let core: RunningCompute
let cell: ScriptedCell
/** The store in which the cell has each volume, and its answers so far. */
let held: Map<string, VolumeView>
let refusal: Failure | undefined

beforeAll(async () => {
  env = await CoreEnv.open('volume_store_moves', ['north'])
  core = await env.core()
  cell = env.cells[0]!
  await env.untilResynced(core)
  const encryption = {
    ...{ id: newId<string>(), provider: 'luks', cipher: null, keySize: 256 },
    ...{ controlLocation: 'front-end', createdAt: '', updatedAt: null },
  }
  const times = { createdAt: new Date(), updatedAt: null }
  for (const type of [
    { id: GOLD, name: 'gold', encryption: null },
    { id: SEALED, name: 'sealed', encryption },
  ])
    await insertType(env.db, {
      ...{ ...type, ...times, description: null, isPublic: true, extraSpecs: specs },
    })
})
beforeEach(() => {
  held = new Map()
  refusal = undefined
  cell.overrides = { 'volume.migrate': goOver, 'volume.change-encryption': goOver }
})
afterAll(async () => {
  await core?.[Symbol.asyncDispose]()
  await env?.[Symbol.asyncDispose]()
})

/** The cell moves the volume at once, unless it refuses. */
function goOver({
  operation: { volumeId },
  isCancelled,
}: Pick<CellAsk<'volume.migrate'>, 'operation' | 'isCancelled'>) {
  const before = held.get(volumeId) ?? viewOf(volumeId, 'bronze', 3)
  if (refusal !== undefined && isCancelled !== true) throw refusal
  if (before.storeId === 'bronze' && isCancelled !== true)
    held.set(volumeId, viewOf(volumeId, 'gold', 5))
  return { view: held.get(volumeId) ?? before }
}

function viewOf(volumeId: string, store: string, version: number): VolumeView {
  return {
    ...{ volumeId, attempt: 1, version, state: 'available', sizeGb: 3, storeId: store },
    ...{ storeName: store, zone: 'nova', fault: null, updatedAt: 1 },
  }
}

const [BRONZE, GOLD, SEALED] = [newId<string>(), newId<string>(), newId<string>()]
const specs = { volume_backend_name: 'gold' }

async function movable(
  to: Partial<MigrateVolumeParams['retype']> = {},
): Promise<MigrateVolumeParams & { readonly projectId: string }> {
  const [volumeId, projectId] = [newId<VolumeId>(), newId<string>()]
  await env.db.transaction(async (tx) => {
    await insertVolume(tx, {
      ...{ id: volumeId, projectId, userId: 'user', name: null, description: null, metadata: {} },
      ...{ typeId: BRONZE, specs: {}, zone: 'nova', sizeGb: 3, isBootable: false },
      ...{ isMultiattach: false, source: null, imageMetadata: null, cellId: cell.id },
      ...{ status: 'available', encryption: null, fault: null, sagaId: null },
    })
    await chargeVolumes(tx, { projectId, typeId: BRONZE }, { volumes: 1, gigabytes: 3 })
  })
  await env.db.transaction((tx) =>
    writeLockedVolume(
      tx,
      volumeId,
      { storeId: 'bronze', storeName: 'bronze' },
      { isIntent: false },
    ),
  )
  const retype = { typeId: GOLD, specs, isMultiattach: false, ...to }
  const asked = { reason: null, userId: 'u', toStore: null, zone: 'nova', retype }
  return { ...asked, volumeId, requestId: newId<string>(), projectId }
}

type Movable = Awaited<ReturnType<typeof movable>>

/** The volume has this store and the type of it, and is charged for so alone. */
async function expectIn(store: 'bronze' | 'gold', { volumeId, projectId, retype }: Movable) {
  const typeId = store === 'gold' ? retype!.typeId : BRONZE
  const encryption = store === 'gold' ? (retype!.encryption ?? null) : null
  await expect
    .poll(() => findVolume(env.db, volumeId), { timeout: LIMIT_MS })
    .toMatchObject({
      status: 'available',
      sagaId: null,
      typeId,
      encryption,
      storeId: store,
      chargedGb: 3,
    })
  const used = (await volumeQuotaRows(env.db, projectId)).filter((row) => row.used > 0)
  expect(Object.fromEntries(used.map((row) => [row.resource, row.used]))).toEqual({
    ...{ volumes: 1, gigabytes: 3, [`volumes_${typeId}`]: 1, [`gigabytes_${typeId}`]: 3 },
  })
  expect(await runningVolumeMove(env.db, volumeId)).toBeUndefined()
}

async function move(params: Movable): Promise<void> {
  const start = { subject: params.volumeId, params, work: work() }
  await (await core.sagas.start(migrateVolumeSaga, start)).finished
}

const ENCRYPTED = { typeId: SEALED, encryption: { keyBits: 256 } } as const
const MOVES = [
  ['a move', migrateVolumeSaga, {}],
  ['a change of encryption', changeEncryptionSaga, ENCRYPTED],
] as const

test.each(
  MOVES.flatMap(([what, moving, change]) =>
    trialsOf(moving).map((trial) => [what, trial.label, change, trial] as const),
  ),
)(
  '%s that %s leaves store, type and encryption together',
  async (_what, _label, change, { saga, ends }) => {
    const params = await movable(change)
    await using sagas = await SagaEngine.open({
      ...{ db: env.db, deps: core as ComputeDeps, sagas: [saga], processName: newId<string>() },
      ...{ clock: systemClock, log },
    })

    const outcome = await sagas
      .start(saga, { subject: params.volumeId, params, work: work() })
      .then(({ finished }) => finished)
      .catch(() => 'unwound')

    expect(outcome).toBe(ends)
    await expectIn(ends === 'done' ? 'gold' : 'bronze', params)
  },
)

test('a volume is asked for as it is and is to be, and no more where its type has changed meanwhile', async () => {
  const asked: unknown[] = []
  cell.overrides['volume.change-encryption'] = (ask) => {
    asked.push(ask)
    return goOver(ask)
  }
  const params = await movable(ENCRYPTED)
  await (
    await core.sagas.start(changeEncryptionSaga, {
      ...{ subject: params.volumeId, params, work: work() },
    })
  ).finished
  expect(asked[0]).toMatchObject({ from: null, to: { keyBits: 256 }, specs })
  await expectIn('gold', params)

  for (const wrong of [
    { typeId: GOLD, encryption: { keyBits: 256 } },
    { typeId: SEALED },
  ] as const) {
    const late = await movable(wrong)
    const start = { subject: late.volumeId, params: late, work: work() }
    await expect(core.sagas.start(changeEncryptionSaga, start)).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining('has just changed'),
    })
    await expectIn('bronze', late)
  }
})

test.each(
  [1, 2].flatMap((dieAt) => (['before', 'after'] as const).map((when) => [when, dieAt] as const)),
)(
  'a gateway that dies %s commit %i leaves the volume as it is, or to the next, which ends the move',
  async (when, dieAt) => {
    const params = await movable()
    const processName = newId<string>()
    const crashing = new CrashingDatabase(env.db, Number.POSITIVE_INFINITY, when)
    {
      await using doomed = await env.core({ db: crashing, processName })
      crashing.dieIn(dieAt)
      await doomed.sagas
        .start(migrateVolumeSaga, { subject: params.volumeId, params, work: work() })
        .then(({ finished }) => finished)
        .catch(() => 'never begun')
    }
    // Transactions of its reconcilers count too, so the one that died need not be the move's.
    const isBegun = (await findVolume(env.db, params.volumeId))?.status !== 'available'
    const isOver = held.has(params.volumeId)
    await using _heir = await env.core({ processName })

    await expectIn(isBegun || isOver ? 'gold' : 'bronze', params)
  },
)

test('a volume that its cell refuses to move keeps its type, with the reason', async () => {
  const params = await movable()
  refusal = new Failure('no-capacity', 'No other store fits.')

  await move(params)

  await expectIn('bronze', params)
  expect(await findVolume(env.db, params.volumeId)).toMatchObject({ fault: 'No other store fits.' })
})

test('a move that is cancelled after the volume has gone over gives it the type of its store', async () => {
  const params = await movable()
  const { overrides } = cell
  const migrate = overrides['volume.migrate']!
  cell.overrides = {
    'volume.migrate': async (ask) => {
      const answer = await migrate(ask)
      const { id } = (await runningVolumeMove(env.db, params.volumeId))!
      await env.db.transaction((tx) => cancelVolumeMove(tx, id))
      return answer
    },
  }

  await move(params)

  await expectIn('gold', params)
})

test('a volume whose cell is lost on the way is charged for once', async () => {
  const params = await movable()
  const { volumeId, projectId } = params
  cell.overrides = {
    'volume.migrate': async () => {
      await takeVolumeFromLostCell(env.db, core.cells.cell(cell.id)!, volumeId)
      throw new Failure('conflict', 'It is lost.')
    },
  }

  await move(params)

  expect(await findVolume(env.db, volumeId)).toMatchObject({ typeId: BRONZE, sagaId: null })
  const used = (await volumeQuotaRows(env.db, projectId)).filter((row) => row.used > 0)
  expect(used.map(({ resource }) => resource)).not.toContain(`gigabytes_${GOLD}`)
  expect(await runningVolumeMove(env.db, volumeId)).toBeUndefined()
})
