import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { workContext } from '#common/context.ts'
import { newId, type SagaId, type VolumeId } from '#common/ids.ts'
import { CrashingDatabase, trialsOf } from '#common/saga/testing.ts'
import { waitFor } from '#common/wait-for.ts'
import type { CellAsk } from '#openapi/wire/cell.ts'
import { cellEngine } from '#test/env/cell-engine.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { type TestCell, type TestHost, testCell } from '#test/env/test-cell.ts'
import type { RunningCell } from '../../context.ts'
import { readStores } from '../../db/stores.ts'
import { copiesOfVolume } from '../../db/volume-copies.ts'
import { findVolumeKeys } from '../../db/volume-keys.ts'
import { findVolume } from '../../db/volumes.ts'
import { auditAllStores } from '../../reconcilers/audit-stores.ts'
import type { Store } from '../../volumes/store.ts'
import { migrateVolumeSaga } from './migrate-volume.ts'

// Goal: whatever fails, repeats or dies, a volume that changes stores is whole in one of them, is counted once when all is over,
// and nothing is left of it in the other.

const LIMIT_MS = 30_000
const AES_256 = { keyBits: 256 } as const
let cell: TestCell
let running: RunningCell
let here: TestHost
let there: TestHost

beforeAll(async () => {
  cell = await testCell('migrate_volume')
  running = await cell.addProcess('one')
  here = await cell.addHost({ name: 'here' })
  there = await cell.addHost({ name: 'there' })
  await cell.waitForHosts(running, 2)
  await waitFor('two stores', async () => (await stores()).length === 2, LIMIT_MS)
})
afterEach(() => {
  for (const host of [here, there]) host.driver.faults.set([])
})
afterAll(() => cell?.[Symbol.asyncDispose]())

const signal = () => AbortSignal.timeout(10_000)
const db = () => running.cell.conductor.db
const stores = () => readStores(db())
const storeOf = async ({ id }: TestHost): Promise<Store> =>
  (await stores()).find(({ hostIds }) => hostIds.includes(id))!
const rowOf = (id: string) => findVolume(db(), id as VolumeId)

/** A volume of this host, made. */
async function madeVolume(on = here): Promise<string> {
  const operation = { id: newId<string>(), volumeId: newId<VolumeId>(), attempt: 1 }
  const volume = {
    ...{ projectId: 'demo', sizeGb: 2, zone: null, specs: {}, encryption: AES_256 },
    amongStores: [(await storeOf(on)).id],
  }
  await cell.ask('volume.create', { operation, volume })
  const isMade = async () => (await rowOf(operation.volumeId))?.state === 'available'
  await waitFor('the volume', isMade, LIMIT_MS)
  return operation.volumeId
}

const asked = (volumeId: string, change: Partial<CellAsk<'volume.migrate'>> = {}) => ({
  operation: { id: newId<string>(), volumeId, attempt: 1 },
  ...{ specs: {}, zone: null, encryption: AES_256, ...change },
})

async function settled(id: string): Promise<void> {
  await waitFor(
    'the move to end',
    async () => {
      const row = await rowOf(id)
      return row?.sagaId == null && (await copiesOfVolume(db(), id)).length === 0
    },
    LIMIT_MS,
  )
}

async function migrateStart(volumeId: string) {
  const volume = (await rowOf(volumeId))!
  const to = volume.hostId === here.id ? there : here
  const store = await storeOf(to)
  const place = { storeId: store.id, storeName: store.name, hostId: to.id, zone: 'nova' }
  const operation = { id: newId<string>(), volumeId, attempt: 1 }
  const ids = { copyId: newId<string>(), makeId: newId<string>() }
  const params = { operation, volume, place, encryption: AES_256, limitGb: 1_000, ...ids }
  return { id: newId<SagaId>(), subject: volumeId, params, work: workContext({}) }
}

const isIn = async (host: TestHost, id: string) => {
  const list = await host.driver.volumes!.list((await storeOf(host)).id, signal())
  return list.some((each) => each.id === id)
}

/** The volume is available in the store of this host alone, with its key, and each store counts what it has. */
async function expectIn(host: TestHost, id: string): Promise<void> {
  const { id: storeId } = await storeOf(host)
  expect(await rowOf(id)).toMatchObject({ state: 'available', storeId, hostId: host.id, sizeGb: 2 })
  for (const each of [here, there]) expect(await isIn(each, id), each.name).toBe(each === host)
  expect(await findVolumeKeys(db(), [id], null)).toHaveLength(1)
  await expectCounted()
}

async function expectCounted(): Promise<void> {
  for (const host of [here, there]) {
    const { promisedGb, id } = await storeOf(host)
    const stored = await host.driver.volumes!.list(id, signal())
    expect(promisedGb, host.name).toBe(2 * stored.length)
  }
}

test.each(
  trialsOf(migrateVolumeSaga)
    .filter(({ ends }) => ends === 'done')
    .map((trial) => [trial.label, trial] as const),
)('a move that %s leaves the volume in the other store', async (_, trial) => {
  const id = await madeVolume()
  await using engine = await cellEngine(running, trial.saga)

  const run = await engine.start(trial.saga, await migrateStart(id))

  expect(await run.finished).toBe('done')
  await expectIn(there, id)
})

test.each([1, 2, 3, 4, 5].flatMap((nth) => [[nth, 'before'] as const, [nth, 'after'] as const]))(
  'a process killed at commit %i of a move, %s it, is succeeded by one that ends the move',
  async (dieAt, when) => {
    const id = await madeVolume()
    const start = await migrateStart(id)
    const processName = `crashing-${id.slice(-12)}`
    const crashing = new CrashingDatabase(db(), dieAt, when)
    {
      await using doomed = await cellEngine(running, migrateVolumeSaga, crashing, processName)
      const run = await doomed.start(migrateVolumeSaga, start).catch(() => undefined)
      await run?.finished
    }
    expect(crashing.isDead).toBe(true)

    await using successor = await cellEngine(running, migrateVolumeSaga, undefined, processName)
    await successor.recover()

    await settled(id)
    await expectIn(dieAt > 1 || when === 'after' ? there : here, id)
  },
)

test.each([
  ['packVolume', () => here],
  ['readVolumeCopy', () => here],
  ['writeVolumeCopy', () => there],
  ['createVolume', () => there],
] as const)('a volume stays, with the reason, where %s fails', async (method, host) => {
  const id = await madeVolume()
  const effect = { do: 'fail', kind: 'no-capacity', message: 'The disk is full.' } as const
  host().driver.faults.set([{ method, effect }])
  const ask = asked(id)

  for (const _ of [1, 2]) await cell.ask('volume.migrate', ask)

  await settled(id)
  expect((await rowOf(id))?.fault).toContain('The disk is full.')
  await expectIn(here, id)
})

test.skipIf(!isFullRun)(
  'a volume that a delete takes on its way is gone from both stores',
  async () => {
    const id = await madeVolume()
    there.driver.faults.set([{ method: 'createVolume', effect: { do: 'hang' } }])
    await cell.ask('volume.migrate', asked(id))
    await waitFor('the copy', async () => (await copiesOfVolume(db(), id)).length === 1, LIMIT_MS)

    const operation = { id: newId<string>(), volumeId: id, attempt: 1 }
    await cell.ask('volume.delete', { operation })

    await settled(id)
    expect([await isIn(here, id), await isIn(there, id)]).toEqual([false, false])
    expect(await rowOf(id)).toBeUndefined()
    await expectCounted()
  },
)

test.skipIf(!isFullRun)(
  'a move that is cancelled before the other store has it leaves the volume free where it is',
  async () => {
    const id = await madeVolume()
    there.driver.faults.set([{ method: 'createVolume', effect: { do: 'hang' } }])
    const ask = asked(id)
    await cell.ask('volume.migrate', ask)

    for (const _ of [1, 2]) {
      const { view } = await cell.ask('volume.migrate', { ...ask, isCancelled: true })
      expect(view).toMatchObject({ state: 'available', fault: null })
    }

    await settled(id)
    await expectIn(here, id)
  },
)

test('what is left in the former store counts there, is no find of an audit, and no move or create leads there', async () => {
  const id = await madeVolume()
  const effect = { do: 'fail', kind: 'conflict', message: 'It is open.' } as const
  here.driver.faults.set([{ method: 'destroyVolume', effect }])
  await cell.ask('volume.migrate', asked(id))
  const isThere = async () => (await rowOf(id))?.hostId === there.id
  await waitFor('the volume to go over', isThere, LIMIT_MS)
  expect(await isIn(here, id)).toBe(true)
  await expectCounted()

  await expect(cell.ask('volume.migrate', asked(id))).rejects.toMatchObject({
    kind: 'no-capacity',
    message: expect.stringContaining('former content of the volume is still being removed'),
  })
  expect(await auditAllStores(running.cell)).toMatchObject({ unknown: 0, removed: 0, missing: 0 })
  const again = { id: newId<string>(), volumeId: id, attempt: 2 }
  const volume = { projectId: 'demo', sizeGb: 2, zone: null, specs: {} }
  await expect(cell.ask('volume.create', { operation: again, volume })).rejects.toMatchObject({
    kind: 'unavailable',
  })

  here.driver.faults.set([])
  await settled(id)
  await expectIn(there, id)
  await cell.ask('volume.migrate', asked(id))
  await settled(id)
  await expectIn(here, id)
})

test('a volume that no other store can take stays, and the refusal says why', async () => {
  const id = await madeVolume()
  const elsewhere = asked(id, { specs: { volume_backend_name: 'gold' } })

  await expect(cell.ask('volume.migrate', elsewhere)).rejects.toMatchObject({
    kind: 'no-capacity',
    message: 'No other store fits: fake: its name is not gold (CapabilitiesFilter).',
  })
  const own = asked(id, { amongStores: [(await storeOf(here)).id] })
  await expect(cell.ask('volume.migrate', own)).rejects.toMatchObject({ kind: 'no-capacity' })

  await expectIn(here, id)
})
