import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { Failure } from '#common/errors.ts'
import { newId, type VolumeId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import { SagaEngine } from '#common/saga/engine.ts'
import { CrashingDatabase, trialsOf } from '#common/saga/testing.ts'
import { waitFor } from '#common/wait-for.ts'
import type { ComputeDeps } from '#gateway/app/compute.ts'
import type { RunningCompute } from '#gateway/app/open-compute.ts'
import { type MoveVolumeParams, moveVolumeSaga } from '#gateway/app/sagas/move-volume.ts'
import { chargeVolumes } from '#gateway/app/volumes/quotas.ts'
import { takeVolumeFromLostCell } from '#gateway/app/volumes/take-from-lost-cell.ts'
import { images } from '#gateway/db/schema/image.ts'
import { operations, volumeMoves } from '#gateway/db/schema/operations.ts'
import { cancelVolumeMove, contentLeft, runningVolumeMove } from '#gateway/db/volume-moves.ts'
import { volumeQuotaRows } from '#gateway/db/volume-quotas.ts'
import {
  findVolume,
  insertVolume,
  lockVolume,
  volumesLeftIn,
  writeLockedVolume,
} from '#gateway/db/volumes.ts'
import type { VolumeView } from '#openapi/wire/cell-volume.ts'
import { CoreEnv, work } from '../env/compute-core.ts'
import type { ScriptedCell } from '../env/scripted-cell.ts'

// A volume that changes cells is in one of them at any moment, charged once, whatever fails and whenever its gateway dies,
// and nothing is left of it in the other.

const LIMIT_MS = 60_000
const log = createLogger('trial', 'silent')
let env: CoreEnv
let core: RunningCompute
let north: ScriptedCell
let south: ScriptedCell
let projectId: string

/** What each cell has: the attempt of each volume. As in a cell, the first outcome for an attempt counts for good. */
const held = new Map<ScriptedCell, Map<string, number>>()
const deleted = new Map<ScriptedCell, Set<string>>()
/** Creates that a cell began, each attempt once. */
let made: string[] = []
let refusal: string | undefined

const viewOf = (
  volumeId: string,
  attempt: number,
  change: Partial<VolumeView> = {},
): VolumeView => ({
  ...{ volumeId, attempt, version: 2, state: 'available', sizeGb: 3, storeId: 's' },
  ...{ storeName: 's', zone: 'nova', fault: null, updatedAt: 1, ...change },
})

function script(cell: ScriptedCell): void {
  const has = new Map<string, number>()
  const gone = new Set<string>()
  held.set(cell, has)
  deleted.set(cell, gone)
  cell.overrides = {
    'volume.upload': async ({ operation, target }) => {
      await fillImage(target.imageId, operation.volumeId)
      return { view: viewOf(operation.volumeId, operation.attempt, { version: 4 }) }
    },
    'volume.create': ({ operation: { volumeId, attempt } }) => {
      if (refusal !== undefined) return { outcome: 'refused', reason: refusal }
      if (gone.has(`${volumeId} ${attempt}`)) return { outcome: 'deleted' }
      if (has.get(volumeId) !== attempt) made.push(`${volumeId} ${attempt}`)
      has.set(volumeId, attempt)
      return { outcome: 'accepted', view: viewOf(volumeId, attempt) }
    },
    'volume.delete': ({ operation: { volumeId, attempt } }) => {
      gone.add(`${volumeId} ${attempt}`)
      if ((has.get(volumeId) ?? attempt) <= attempt) has.delete(volumeId)
      return { outcome: 'deleted' }
    },
  }
}

async function fillImage(id: string, volumeId: string): Promise<void> {
  const row = {
    ...{ id, name: 'saved', status: 'active', visibility: 'private', owner: 'p', sizeBytes: 1 },
    ...{ diskFormat: 'qcow2', containerFormat: 'bare', virtualSizeBytes: 1, properties: {} },
    ...{ md5: '0'.repeat(32), sha256: '1'.repeat(64), sha512: '2'.repeat(128), revision: 1 },
    ...{ minDiskGb: 3, minRamMb: 0, isProtected: false, isHidden: false },
    ...{ snapshotOf: volumeId, snapshotFor: 'volume-move' },
    ...{ createdAt: new Date(), updatedAt: new Date() },
  }
  await env.db.orm
    .insert(images)
    .values(row)
    .onDuplicateKeyUpdate({ set: { revision: 1 } })
}

beforeAll(async () => {
  env = await CoreEnv.open('volume_move', ['north', 'south'])
  core = await env.core()
  ;[north, south] = env.cells as [ScriptedCell, ScriptedCell]
})
beforeEach(() => {
  projectId = newId<string>()
  refusal = undefined
  made = []
  for (const cell of env.cells) script(cell)
})
afterAll(async () => {
  await core?.[Symbol.asyncDispose]()
  await env?.[Symbol.asyncDispose]()
})

/** A volume of the northern cell, and its move to the southern. */
async function movable(): Promise<MoveVolumeParams> {
  const id = newId<VolumeId>()
  await env.db.transaction(async (tx) => {
    await insertVolume(tx, {
      ...{ id, projectId, userId: 'user', name: null, description: null, metadata: {} },
      ...{ typeId: null, specs: {}, zone: 'nova', sizeGb: 3, isBootable: false },
      ...{ isMultiattach: false, source: null, imageMetadata: null, cellId: north.id },
      ...{ status: 'available', encryption: null, fault: null, sagaId: null },
    })
    await chargeVolumes(tx, { projectId, typeId: null }, { volumes: 1, gigabytes: 3 })
  })
  held.get(north)!.set(id, 1)
  const order = {
    ...({
      imageId: newId<string>(),
      sourceId: id,
      purpose: 'volume-move',
      backupsKept: null,
    } as const),
    ...{ owner: projectId, name: 'v-move', minDiskGb: 3, minRamMb: 0, properties: {} },
  } as const
  return {
    ...{ volumeId: id, fromCellId: north.id, toCellId: south.id, reason: null, userId: 'u', order },
    ...{ uploadId: newId<string>(), createId: newId<string>() },
  }
}

async function operationOf({ volumeId }: MoveVolumeParams) {
  const [row] = await env.db.orm.select().from(operations).where(eq(operations.subjectId, volumeId))
  return row
}

/** The volume is this cell's, in this attempt, and no other cell has anything of it. */
async function expectIn(
  cell: ScriptedCell,
  { volumeId }: MoveVolumeParams,
  attempt: number,
): Promise<void> {
  const is = { cellId: cell.id, attempt, status: 'available', sagaId: null, chargedGb: 3 }
  await expect.poll(() => findVolume(env.db, volumeId), { timeout: LIMIT_MS }).toMatchObject(is)
  const used = (await volumeQuotaRows(env.db, projectId)).map((row) => [row.resource, row.used])
  expect(Object.fromEntries(used)).toEqual({ volumes: 1, gigabytes: 3 })
  await waitFor(
    'nothing elsewhere',
    async () => {
      const left = await contentLeft(env.db, [], 1_000)
      return left.every((each) => each.volumeId !== volumeId)
    },
    LIMIT_MS,
  )
  for (const each of env.cells)
    expect(held.get(each)!.get(volumeId), each.name).toBe(each === cell ? attempt : undefined)
  // No attempt is made twice, in any cell.
  expect(made).toEqual([...new Set(made)])
}

test.each(trialsOf(moveVolumeSaga).map((trial) => [trial.label, trial] as const))(
  'move-volume that %s leaves the volume in one cell',
  async (_label, { saga, ends }) => {
    const params = await movable()
    await using sagas = await SagaEngine.open({
      ...{ db: env.db, deps: core as ComputeDeps, sagas: [saga], processName: newId<string>() },
      ...{ clock: systemClock, log },
    })

    const outcome = await sagas
      .start(saga, { subject: params.volumeId, params, work: work() })
      .then(({ finished }) => finished)
      .catch(() => 'unwound')

    expect(outcome).toBe(ends)
    await (ends === 'done' ? expectIn(south, params, 2) : expectIn(north, params, 1))
    const operation = await operationOf(params)
    expect(operation?.state).toBe(
      operation === undefined ? undefined : ends === 'done' ? 'done' : 'failed',
    )
  },
)

test.each(
  [1, 2, 3].flatMap((dieAt) => (['before', 'after'] as const).map((when) => ({ dieAt, when }))),
)(
  'a gateway that dies $when commit $dieAt leaves the volume where it is, or to the next, which ends the move',
  async ({ dieAt, when }) => {
    const params = await movable()
    const processName = newId<string>()
    const crashing = new CrashingDatabase(env.db, Number.POSITIVE_INFINITY, when)
    {
      await using doomed = await env.core({ db: crashing, processName })
      crashing.dieIn(dieAt)
      await doomed.sagas
        .start(moveVolumeSaga, { subject: params.volumeId, params, work: work() })
        .then(({ finished }) => finished)
        .catch(() => 'never begun')
    }
    // Transactions of its reconcilers count too, so the one that died need not be the move's.
    const isBegun = (await operationOf(params)) !== undefined
    await using _heir = await env.core({ processName })

    await (isBegun ? expectIn(south, params, 2) : expectIn(north, params, 1))
    expect((await operationOf(params))?.state).toBe(isBegun ? 'done' : undefined)
  },
)

async function move(params: MoveVolumeParams): Promise<void> {
  const start = { subject: params.volumeId, params, work: work() }
  await (await core.sagas.start(moveVolumeSaga, start)).finished
}

const again = (params: MoveVolumeParams): MoveVolumeParams => ({
  ...params,
  order: { ...params.order, imageId: newId<string>() },
  ...{ uploadId: newId<string>(), createId: newId<string>() },
})

test('a volume that the other cell refuses stays, and is asked for in a new attempt next time', async () => {
  const params = await movable()
  refusal = 'No store fits.'
  await move(params)
  await expectIn(north, params, 1)
  expect(await operationOf(params)).toMatchObject({ state: 'failed', message: 'No store fits.' })

  refusal = undefined
  await move(again(params))
  await expectIn(south, params, 3)
  await move({ ...again(params), fromCellId: south.id, toCellId: north.id })
  await expectIn(north, params, 4)
})

test('a cancelled move waits for no cell, and what that made meanwhile is deleted', async () => {
  const params = await movable()
  const { overrides } = south
  south.overrides = {
    ...overrides,
    'volume.create': ({ operation: { volumeId, attempt } }) => {
      held.get(south)!.set(volumeId, attempt)
      throw new Failure('unavailable', 'The answer is lost.')
    },
  }
  const start = { subject: params.volumeId, params, work: work() }
  await core.sagas.start(moveVolumeSaga, start)
  await waitFor(
    'the other cell to have it',
    async () => held.get(south)!.has(params.volumeId),
    LIMIT_MS,
  )
  const { id } = (await runningVolumeMove(env.db, params.volumeId))!

  expect(await env.db.transaction((tx) => cancelVolumeMove(tx, id))).toBe(true)

  await expect
    .poll(() => operationOf(params), { timeout: LIMIT_MS })
    .toMatchObject({
      ...{ state: 'cancelled', message: null },
    })
  south.overrides = overrides
  await expectIn(north, params, 1)
  expect(await env.db.transaction((tx) => cancelVolumeMove(tx, id))).toBe(false)
})

test('a delete by force that comes between is not undone, and nothing is left', async () => {
  const params = await movable()
  const { overrides } = south
  south.overrides = {
    ...overrides,
    'volume.create': async (ask) => {
      await env.db.transaction(async (tx) => {
        await lockVolume(tx, params.volumeId)
        const taken = { isDeleting: true, status: 'deleting', sagaId: null } as const
        await writeLockedVolume(tx, params.volumeId, taken, { isIntent: true })
      })
      return overrides['volume.create']!(ask)
    },
  }
  await move(params)

  expect(await findVolume(env.db, params.volumeId)).toMatchObject({
    ...{ isDeleting: true, cellId: north.id, attempt: 1 },
  })
  await waitFor('nothing there', async () => !held.get(south)!.has(params.volumeId), LIMIT_MS)
  expect((await operationOf(params))?.state).toBe('failed')
})

test('a volume whose cell is lost while the other makes it is saved by its move', async () => {
  const params = await movable()
  const { overrides } = south
  const left: (readonly VolumeId[])[] = []
  south.overrides = {
    ...overrides,
    'volume.create': async (ask) => {
      left.push(await volumesLeftIn(env.db, north.id, 1_000))
      await takeVolumeFromLostCell(env.db, core.cells.cell(north.id)!, params.volumeId)
      return overrides['volume.create']!(ask)
    },
  }
  await move(params)

  expect(left.flat()).not.toContain(params.volumeId)
  await expectIn(south, params, 2)
})

test('what was left in an unreachable cell is wanted gone until that cell is back', async () => {
  const params = await movable()
  const { overrides } = north
  north.overrides = {
    ...overrides,
    'volume.delete': () => {
      throw new Failure('unavailable', 'It does not answer.')
    },
  }
  await move(params)
  expect(await findVolume(env.db, params.volumeId)).toMatchObject({ cellId: south.id, attempt: 2 })
  expect(held.get(north)!.get(params.volumeId)).toBe(1)
  const [row] = await env.db.orm
    .select()
    .from(volumeMoves)
    .where(eq(volumeMoves.volumeId, params.volumeId))
  expect(row).toMatchObject({ leftCellId: north.id, leftAttempt: 1 })

  north.overrides = overrides
  await expectIn(south, params, 2)
})
