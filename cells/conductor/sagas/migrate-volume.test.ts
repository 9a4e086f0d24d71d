import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { CrashingDatabase, trialsOf } from '#common/saga/testing.ts'
import { waitFor } from '#common/wait-for.ts'
import type { CellAsk } from '#openapi/wire/cell.ts'
import { cellEngine } from '#test/env/cell-engine.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { StoreMoveCell } from '#test/env/store-move-cell.ts'
import type { TestHost } from '#test/env/test-cell.ts'
import { copiesOfVolume } from '../../db/volume-copies.ts'
import { auditAllStores } from '../../reconcilers/audit-stores.ts'
import { migrateVolumeSaga } from './migrate-volume.ts'

// Goal: whatever fails, repeats or dies, a volume that changes stores is whole in one of them, is counted once when all is over,
// and nothing is left of it in the other.

const LIMIT_MS = 30_000
const AES_256 = { keyBits: 256 } as const
let world: StoreMoveCell

beforeAll(async () => {
  world = await StoreMoveCell.start('migrate_volume')
})
afterEach(() => world.clearFaults())
afterAll(() => world?.[Symbol.asyncDispose]())

const ask: StoreMoveCell['cell']['ask'] = (...asked) => world.cell.ask(...asked)
const rowOf = (id: string) => world.rowOf(id)
const isIn = (host: TestHost, id: string) => world.isIn(host, id)
const settled = (id: string) => world.settled(id)
const madeVolume = () => world.madeVolume(AES_256)
const expectIn = (host: TestHost, id: string) => world.expectIn(host, id, { isEncrypted: true })
const asked = (volumeId: string, change: Partial<CellAsk<'volume.migrate'>> = {}) => ({
  operation: { id: newId<string>(), volumeId, attempt: 1 },
  ...{ specs: {}, zone: null, encryption: AES_256, ...change },
})
const migrateStart = (id: string) => world.startOf(id, { encryption: AES_256 })

test.each(
  trialsOf(migrateVolumeSaga)
    .filter(({ ends }) => ends === 'done')
    .map((trial) => [trial.label, trial] as const),
)('a move that %s leaves the volume in the other store', async (_, trial) => {
  const id = await madeVolume()
  await using engine = await cellEngine(world.running, trial.saga)

  const run = await engine.start(trial.saga, await migrateStart(id))

  expect(await run.finished).toBe('done')
  await expectIn(world.there, id)
})

test.each([1, 2, 3, 4, 5].flatMap((nth) => [[nth, 'before'] as const, [nth, 'after'] as const]))(
  'a process killed at commit %i of a move, %s it, is succeeded by one that ends the move',
  async (dieAt, when) => {
    const id = await madeVolume()
    const start = await migrateStart(id)
    const processName = `crashing-${id.slice(-12)}`
    const crashing = new CrashingDatabase(world.db, dieAt, when)
    {
      await using doomed = await cellEngine(world.running, migrateVolumeSaga, crashing, processName)
      const run = await doomed.start(migrateVolumeSaga, start).catch(() => undefined)
      await run?.finished
    }
    expect(crashing.isDead).toBe(true)

    await using successor = await cellEngine(
      world.running,
      migrateVolumeSaga,
      undefined,
      processName,
    )
    await successor.recover()

    await settled(id)
    await expectIn(dieAt > 1 || when === 'after' ? world.there : world.here, id)
  },
)

test.each([
  ['packVolume', () => world.here],
  ['readVolumeCopy', () => world.here],
  ['writeVolumeCopy', () => world.there],
  ['createVolume', () => world.there],
] as const)('a volume stays, with the reason, where %s fails', async (method, host) => {
  const id = await madeVolume()
  const effect = { do: 'fail', kind: 'no-capacity', message: 'The disk is full.' } as const
  host().driver.faults.set([{ method, effect }])
  const request = asked(id)

  for (const _ of [1, 2]) await ask('volume.migrate', request)

  await settled(id)
  expect((await rowOf(id))?.fault).toContain('The disk is full.')
  await expectIn(world.here, id)
})

test.skipIf(!isFullRun)(
  'a volume that a delete takes on its way is gone from both stores',
  async () => {
    const id = await madeVolume()
    world.there.driver.faults.set([{ method: 'createVolume', effect: { do: 'hang' } }])
    await ask('volume.migrate', asked(id))
    await waitFor(
      'the copy',
      async () => (await copiesOfVolume(world.db, id)).length === 1,
      LIMIT_MS,
    )

    const operation = { id: newId<string>(), volumeId: id, attempt: 1 }
    await ask('volume.delete', { operation })

    await settled(id)
    expect([await isIn(world.here, id), await isIn(world.there, id)]).toEqual([false, false])
    expect(await rowOf(id)).toBeUndefined()
    await world.expectCounted()
  },
)

test.skipIf(!isFullRun)(
  'a move that is cancelled before the other store has it leaves the volume free where it is',
  async () => {
    const id = await madeVolume()
    world.there.driver.faults.set([{ method: 'createVolume', effect: { do: 'hang' } }])
    const request = asked(id)
    await ask('volume.migrate', request)

    for (const _ of [1, 2]) {
      const { view } = await ask('volume.migrate', { ...request, isCancelled: true })
      expect(view).toMatchObject({ state: 'available', fault: null })
    }

    await settled(id)
    await expectIn(world.here, id)
  },
)

test('what is left in the former store counts there, is no find of an audit, and no move or create leads there', async () => {
  const id = await madeVolume()
  const effect = { do: 'fail', kind: 'conflict', message: 'It is open.' } as const
  world.here.driver.faults.set([{ method: 'destroyVolume', effect }])
  await ask('volume.migrate', asked(id))
  const isThere = async () => (await rowOf(id))?.hostId === world.there.id
  await waitFor('the volume to go over', isThere, LIMIT_MS)
  expect(await isIn(world.here, id)).toBe(true)
  await world.expectCounted()

  await expect(ask('volume.migrate', asked(id))).rejects.toMatchObject({
    kind: 'no-capacity',
    message: expect.stringContaining('former content of the volume is still being removed'),
  })
  expect(await auditAllStores(world.running.cell)).toMatchObject({
    unknown: 0,
    removed: 0,
    missing: 0,
  })
  const again = { id: newId<string>(), volumeId: id, attempt: 2 }
  const volume = { projectId: 'demo', sizeGb: 2, zone: null, specs: {} }
  await expect(ask('volume.create', { operation: again, volume })).rejects.toMatchObject({
    kind: 'unavailable',
  })

  world.here.driver.faults.set([])
  await settled(id)
  await expectIn(world.there, id)
  await ask('volume.migrate', asked(id))
  await settled(id)
  await expectIn(world.here, id)
})

test('a volume that no other store can take stays, and the refusal says why', async () => {
  const id = await madeVolume()
  const elsewhere = asked(id, { specs: { volume_backend_name: 'gold' } })

  await expect(ask('volume.migrate', elsewhere)).rejects.toMatchObject({
    kind: 'no-capacity',
    message: 'No other store fits: fake: its name is not gold (CapabilitiesFilter).',
  })
  const own = asked(id, { amongStores: [(await world.storeOf(world.here)).id] })
  await expect(ask('volume.migrate', own)).rejects.toMatchObject({ kind: 'no-capacity' })

  await expectIn(world.here, id)
})
