import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { newId, type VolumeId } from '#common/ids.ts'
import { CrashingDatabase, trialsOf } from '#common/saga/testing.ts'
import { waitFor } from '#common/wait-for.ts'
import type { VolumeEncryption } from '#openapi/wire/cell-volume.ts'
import { cellEngine } from '#test/env/cell-engine.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { StoreMoveCell } from '#test/env/store-move-cell.ts'
import { copiesOfVolume } from '../../db/volume-copies.ts'
import { newVolumeKey } from '../../volumes/volume-keys.ts'
import { changeEncryptionSaga } from './migrate-volume.ts'

// Goal: whatever fails, repeats or dies, a volume that is encrypted otherwise in another store has a key exactly if it is encrypted
// where it is, and no copy of it is in the clear.

const LIMIT_MS = 30_000
const AES_128 = { keyBits: 128 } as const
const AES_256 = { keyBits: 256 } as const
type Change = readonly [before: VolumeEncryption | null, after: VolumeEncryption | null]
const SEAL: Change = [null, AES_256]
const OPEN: Change = [AES_256, null]
const CHANGES: readonly (readonly [string, Change])[] = [
  ['is encrypted', SEAL],
  ['is encrypted no more', OPEN],
  ['gets another encryption', [AES_256, AES_128]],
]
let world: StoreMoveCell

beforeAll(async () => {
  world = await StoreMoveCell.start('change_encryption')
})
afterEach(() => world.clearFaults())
afterAll(() => world?.[Symbol.asyncDispose]())

const asked = (volumeId: string, [from, to]: Change) => ({
  operation: { id: newId<string>(), volumeId, attempt: 1 },
  ...{ specs: {}, zone: null, from, to },
})
const startOf = (id: string, [before, after]: Change) =>
  world.startOf(id, {
    before,
    ...(after && { encryption: after }),
    ...(before === null && {
      key: newVolumeKey(world.running.cell.conductor.secrets, id as VolumeId),
    }),
  })
const expectIn = (where: 'here' | 'there', id: string, [before, after]: Change) =>
  world.expectIn(world[where], id, { isEncrypted: (where === 'here' ? before : after) !== null })

test.each(CHANGES)(
  'a volume that %s in another store has the key that it needs',
  async (_, change) => {
    const id = await world.madeVolume(change[0])
    const ask = asked(id, change)

    for (const _ of [1, 2]) await world.cell.ask('volume.change-encryption', ask)

    await world.settled(id)
    await expectIn('there', id, change)
    expect((await world.rowOf(id))?.fault).toBeNull()
  },
)

test.each(
  (isFullRun ? [SEAL, OPEN] : [SEAL]).flatMap((change) =>
    trialsOf(changeEncryptionSaga).map((trial) => [trial.label, change, trial] as const),
  ),
)('a change that %s, of %j, is whole or none', async (_, change, { saga, ends }) => {
  const id = await world.madeVolume(change[0])
  await using engine = await cellEngine(world.running, saga)

  const outcome = await engine
    .start(saga, await startOf(id, change))
    .then(({ finished }) => finished)
    .catch(() => 'unwound')

  expect(outcome).toBe(ends)
  await expectIn(ends === 'done' ? 'there' : 'here', id, change)
})

test
  .skipIf(!isFullRun)
  .each(
    [SEAL, OPEN].flatMap((change) =>
      [1, 2, 3, 4, 5].flatMap((at) => [
        [at, 'before', change] as const,
        [at, 'after', change] as const,
      ]),
    ),
  )(
  'a process killed at commit %i of a change, %s it, is succeeded by one that ends it: %j',
  async (dieAt, when, change) => {
    const id = await world.madeVolume(change[0])
    const start = await startOf(id, change)
    const processName = `crashing-${id.slice(-12)}`
    const crashing = new CrashingDatabase(world.db, dieAt, when)
    {
      await using doomed = await cellEngine(
        ...([world.running, changeEncryptionSaga, crashing, processName] as const),
      )
      const run = await doomed.start(changeEncryptionSaga, start).catch(() => undefined)
      await run?.finished
    }
    expect(crashing.isDead).toBe(true)

    await using successor = await cellEngine(
      ...([world.running, changeEncryptionSaga, undefined, processName] as const),
    )
    await successor.recover()

    await world.settled(id)
    await expectIn(dieAt > 1 || when === 'after' ? 'there' : 'here', id, change)
  },
)

test.each(
  [SEAL, OPEN].flatMap((change) => [
    ['packVolume', 'here', change] as const,
    ['createVolume', 'there', change] as const,
  ]),
)('where %s fails %s, a volume stays as it was: %j', async (method, where, change) => {
  const id = await world.madeVolume(change[0])
  const effect = { do: 'fail', kind: 'no-capacity', message: 'The disk is full.' } as const
  world[where].driver.faults.set([{ method, effect }])

  await world.cell.ask('volume.change-encryption', asked(id, change))

  await world.settled(id)
  expect((await world.rowOf(id))?.fault).toContain('The disk is full.')
  await expectIn('here', id, change)
})

test.skipIf(!isFullRun).each([SEAL, OPEN])(
  'a change that is cancelled leaves the volume as it was: %j',
  async (...change) => {
    const id = await world.madeVolume(change[0])
    world.there.driver.faults.set([{ method: 'createVolume', effect: { do: 'hang' } }])
    const ask = asked(id, change)
    await world.cell.ask('volume.change-encryption', ask)
    const isClaimed = async () => (await copiesOfVolume(world.db, id)).length === 1
    await waitFor('the copy', isClaimed, LIMIT_MS)

    for (const _ of [1, 2]) {
      const answer = await world.cell.ask('volume.change-encryption', { ...ask, isCancelled: true })
      expect(answer.view).toMatchObject({ state: 'available', fault: null })
    }

    await world.settled(id)
    await expectIn('here', id, change)
  },
)

test('a volume that a delete takes on its way leaves no key', async () => {
  const id = await world.madeVolume(null)
  world.there.driver.faults.set([{ method: 'createVolume', effect: { do: 'hang' } }])
  await world.cell.ask('volume.change-encryption', asked(id, SEAL))
  const hasKey = async () => (await world.keysOf(id)).length === 1
  await waitFor('the key', hasKey, LIMIT_MS)

  const operation = { id: newId<string>(), volumeId: id, attempt: 1 }
  await world.cell.ask('volume.delete', { operation })

  await world.settled(id)
  expect([await world.isIn(world.here, id), await world.isIn(world.there, id)]).toEqual([
    false,
    false,
  ])
  expect(await world.keysOf(id)).toEqual([])
  await world.expectCounted()
})

test('a volume that is not as the request says is refused', async () => {
  const [plain, sealed] = [await world.madeVolume(null), await world.madeVolume(AES_256)]

  for (const [id, change] of [
    [plain, OPEN],
    [sealed, SEAL],
  ] as const)
    await expect(
      world.cell.ask('volume.change-encryption', asked(id, change)),
    ).rejects.toMatchObject({ kind: 'conflict', message: expect.stringContaining('encrypted') })

  await expectIn('here', plain, SEAL)
  await expectIn('here', sealed, OPEN)
})
