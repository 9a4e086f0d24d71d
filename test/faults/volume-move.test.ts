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
import { type MoveVolumeParams, moveVolumeSaga } from '#gateway/app/sagas/move-volume.ts'
import { takeVolumeFromLostCell } from '#gateway/app/volumes/take-from-lost-cell.ts'
import { volumeMoves } from '#gateway/db/schema/operations.ts'
import { cancelVolumeMove, runningVolumeMove } from '#gateway/db/volume-moves.ts'
import { findVolume, lockVolume, volumesLeftIn, writeLockedVolume } from '#gateway/db/volumes.ts'
import { type CoreEnv, work } from '../env/compute-core.ts'
import { isFullRun } from '../env/full-run.ts'
import type { ScriptedCell } from '../env/scripted-cell.ts'
import { VolumeMoveWorld } from './volume-move-world.ts'

// A volume that changes cells is in one of them at any moment, charged once, whatever fails and whenever its gateway dies,
// and nothing is left of it in the other.

const LIMIT_MS = 60_000
const log = createLogger('trial', 'silent')
let world: VolumeMoveWorld
let env: CoreEnv
let core: VolumeMoveWorld['core']
let north: ScriptedCell
let south: ScriptedCell

beforeAll(async () => {
  world = await VolumeMoveWorld.open('volume_move')
  ;({ env, core, north, south } = world)
})
beforeEach(() => world.reset())
afterAll(() => world?.[Symbol.asyncDispose]())

const movable = () => world.movable()
const operationOf = (params: MoveVolumeParams) => world.operationOf(params)
const expectIn: VolumeMoveWorld['expectIn'] = (...args) => world.expectIn(...args)

/** Those with a server take longer; of an encrypted one the key goes along. */
const USERS = (
  [
    ['no server uses', movable, 'available'],
    ['is encrypted', () => world.movable({ keyBits: 256 }), 'available'],
    ['its server takes along', () => world.carried(), 'in-use'],
  ] as const
).filter(([user]) => isFullRun || user === 'no server uses')

test.each(
  trialsOf(moveVolumeSaga).flatMap((trial) =>
    USERS.map((user) => [trial.label, ...user, trial] as const),
  ),
)(
  'move-volume that %s leaves a volume that %s in one cell',
  async (_label, _user, begun, status, { saga, ends }) => {
    const params = await begun()
    await using sagas = await SagaEngine.open({
      ...{ db: env.db, deps: core as ComputeDeps, sagas: [saga], processName: newId<string>() },
      ...{ clock: systemClock, log },
    })

    const outcome = await sagas
      .start(saga, { subject: params.volumeId, params, work: work() })
      .then(({ finished }) => finished)
      .catch(() => 'unwound')

    expect(outcome).toBe(ends)
    await (ends === 'done'
      ? expectIn(south, params, 2, status)
      : expectIn(north, params, 1, status))
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
  world.refusal = 'No store fits.'
  await move(params)
  await expectIn(north, params, 1)
  expect(await operationOf(params)).toMatchObject({ state: 'failed', message: 'No store fits.' })

  world.refusal = undefined
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
      world.held.get(south)!.set(volumeId, attempt)
      throw new Failure('unavailable', 'The answer is lost.')
    },
  }
  const start = { subject: params.volumeId, params, work: work() }
  await core.sagas.start(moveVolumeSaga, start)
  await waitFor(
    'the other cell to have it',
    async () => world.held.get(south)!.has(params.volumeId),
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
  await waitFor('nothing there', async () => !world.held.get(south)!.has(params.volumeId), LIMIT_MS)
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
  expect(world.held.get(north)!.get(params.volumeId)).toBe(1)
  const [row] = await env.db.orm
    .select()
    .from(volumeMoves)
    .where(eq(volumeMoves.volumeId, params.volumeId))
  expect(row).toMatchObject({ leftCellId: north.id, leftAttempt: 1 })

  north.overrides = overrides
  await expectIn(south, params, 2)
})
