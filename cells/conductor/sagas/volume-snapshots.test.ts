import { afterAll, beforeAll, expect, test } from 'vitest'
import { workContext } from '#common/context.ts'
import type { Tx } from '#common/db/database.ts'
import { newId, type SagaId, type VolumeId, type VolumeSnapshotId } from '#common/ids.ts'
import { CrashingDatabase, trialsOf } from '#common/saga/testing.ts'
import { waitFor } from '#common/wait-for.ts'
import type { VolumeSource } from '#openapi/wire/cell-volume.ts'
import { cellEngine } from '#test/env/cell-engine.ts'
import { type TestCell, type TestHost, testCell } from '#test/env/test-cell.ts'
import type { RunningCell } from '../../context.ts'
import { readStores } from '../../db/stores.ts'
import { findVolumeSnapshot, queueSnapshotAnswer } from '../../db/volume-snapshots.ts'
import { findVolume } from '../../db/volumes.ts'
import { findSource } from '../../volumes/source.ts'
import { GIB } from '../../volumes/store.ts'
import { createVolumeSnapshotSaga } from './create-volume-snapshot.ts'
import { deleteVolumeSnapshotSaga } from './delete-volume-snapshot.ts'

// Goal: whatever fails, repeats or dies, a snapshot is in its store and counted once, or nothing of it is left.

const LIMIT_MS = 30_000

let cell: TestCell
let running: RunningCell
let host: TestHost
let volumeId: VolumeId

beforeAll(async () => {
  cell = await testCell('snapshot_sagas')
  running = await cell.addProcess('one')
  host = await cell.addHost({ name: 'host' })
  await cell.waitForHosts(running, 1)
  await waitFor('a store', async () => (await readStores(db())).length === 1, LIMIT_MS)
  volumeId = await madeVolume()
})

afterAll(() => cell?.[Symbol.asyncDispose]())

const db = () => running.cell.conductor.db
const signal = () => AbortSignal.timeout(10_000)
const theStore = async () => (await readStores(db()))[0]!
const storedVolumes = async () => host.driver.volumes!.list((await theStore()).id, signal())

/** A whole volume of 2 GiB. */
async function madeVolume(source?: VolumeSource): Promise<VolumeId> {
  const operation = { id: newId(), volumeId: newId<VolumeId>(), attempt: 1 }
  const volume = { projectId: 'demo', sizeGb: 2, zone: null, specs: {}, ...(source && { source }) }
  await cell.ask('volume.create', { operation, volume })
  const isMade = async () => (await findVolume(db(), operation.volumeId))?.state === 'available'
  await waitFor('a volume', isMade, LIMIT_MS)
  return operation.volumeId
}

async function createStart() {
  const { id: storeId, name: storeName } = await theStore()
  const id = newId<VolumeSnapshotId>()
  const snapshot = { id, volumeId, sizeGb: 2, storeId, storeName, hostId: host.id, updatedAt: 1 }
  return {
    id: newId<SagaId>(),
    subject: id,
    params: { operation: { id: newId(), snapshotId: id }, snapshot, limitGb: 1_000 },
    work: workContext({}),
    before: async (tx: Tx) => queueSnapshotAnswer(tx, id, { outcome: 'accepted', reason: null }),
  }
}

async function deleteStart(id: string) {
  const snapshot = (await findVolumeSnapshot(db(), id))!
  const params = { operation: { id: newId(), snapshotId: id }, snapshot }
  return { subject: id, params, work: workContext({}) }
}

async function madeSnapshot(): Promise<string> {
  const start = await createStart()
  const run = await running.cell.sagas.start(createVolumeSnapshotSaga, start)
  expect(await run.finished).toBe('done')
  return start.subject
}

/** Where the snapshot still is, as words. */
async function left(id: string): Promise<readonly string[]> {
  const row = await findVolumeSnapshot(db(), id)
  const kept = (await storedVolumes()).flatMap(({ snapshots }) => snapshots)
  return [
    ...(row === undefined ? [] : [`row ${row.state}`]),
    ...(kept.includes(id as VolumeSnapshotId) ? ['stored'] : []),
  ]
}

/** The store counts exactly the volumes and snapshots that the cell has. */
async function expectCounted(): Promise<void> {
  const stored = await storedVolumes()
  const sizes = stored.map(({ bytes, snapshots }) => (bytes / GIB) * (1 + snapshots.length))
  expect((await theStore()).promisedGb).toBe(sizes.reduce((sum, size) => sum + size, 0))
}

const done = <S extends { readonly label: string; readonly ends: string }>(trials: readonly S[]) =>
  trials.filter(({ ends }) => ends === 'done').map((trial) => [trial.label, trial] as const)

test.each(done(trialsOf(createVolumeSnapshotSaga)))(
  'a create that %s makes one snapshot',
  async (_, trial) => {
    const start = await createStart()
    await using engine = await cellEngine(running, trial.saga)

    const run = await engine.start(trial.saga, start)

    expect(await run.finished).toBe('done')
    expect(await left(start.subject)).toEqual(['row available', 'stored'])
    await expectCounted()
  },
)

test.each(done(trialsOf(deleteVolumeSnapshotSaga)))(
  'a delete that %s leaves nothing',
  async (_, trial) => {
    const id = await madeSnapshot()
    await using engine = await cellEngine(running, trial.saga)

    const run = await engine.start(trial.saga, await deleteStart(id))

    expect(await run.finished).toBe('done')
    expect(await left(id)).toEqual([])
    await expectCounted()
  },
)

const DEATHS = [1, 2].flatMap((nth) => [[nth, 'before'] as const, [nth, 'after'] as const])

test.each(DEATHS)(
  'a process killed at commit %i of a create, %s it, is succeeded by one that ends the create',
  async (dieAt, when) => {
    const start = await createStart()
    const name = `crashing-${start.subject.slice(-12)}`
    const crashing = new CrashingDatabase(db(), dieAt, when)
    {
      await using doomed = await cellEngine(running, createVolumeSnapshotSaga, crashing, name)
      const run = await doomed.start(createVolumeSnapshotSaga, start).catch(() => undefined)
      await run?.finished
    }

    await using successor = await cellEngine(running, createVolumeSnapshotSaga, undefined, name)
    await successor.recover()

    const isPromised = dieAt > 1 || when === 'after'
    const whole = isPromised ? ['row available', 'stored'] : []
    await expect.poll(() => left(start.subject)).toEqual(whole)
    await expectCounted()
  },
)

test('a snapshot that its store refuses is in error with the reason, and its delete leaves nothing', async () => {
  const effect = { do: 'fail', kind: 'internal', message: 'the disk is bad' } as const
  host.driver.faults.set([{ method: 'snapshotVolume', times: 1, effect }])
  const id = await madeSnapshot()

  expect(await left(id)).toEqual(['row error'])
  expect((await findVolumeSnapshot(db(), id))?.fault).toContain('the disk is bad')
  const ended = await running.cell.sagas.start(deleteVolumeSnapshotSaga, await deleteStart(id))
  expect(await ended.finished).toBe('done')
  expect(await left(id)).toEqual([])
  await expectCounted()
})

const askOf = (change: object = {}) => ({
  operation: { id: newId<string>(), snapshotId: newId<string>() },
  volume: { volumeId, attempt: 1, ...change },
})

test('a create that is repeated is answered alike, and after a delete it makes nothing', async () => {
  const ask = askOf()
  const { operation } = ask
  for (const _ of ['first', 'again'])
    expect(await cell.ask('volume-snapshot.create', ask)).toMatchObject({
      outcome: 'accepted',
      view: { snapshotId: operation.snapshotId, sizeGb: 2 },
    })
  await expect.poll(() => left(operation.snapshotId)).toEqual(['row available', 'stored'])

  const end = { operation: { ...operation, id: newId<string>() } }
  const deleted = await cell.ask('volume-snapshot.delete', end)
  expect(deleted).toMatchObject({ outcome: 'deleting', view: { state: 'deleting' } })
  await expect.poll(() => left(operation.snapshotId)).toEqual([])

  expect(await cell.ask('volume-snapshot.delete', end)).toEqual({ outcome: 'deleted' })
  expect(await cell.ask('volume-snapshot.create', ask)).toEqual({ outcome: 'deleted' })
})

test('a delete that comes first is the answer to a create that comes late', async () => {
  const ask = askOf()
  const deleted = await cell.ask('volume-snapshot.delete', { operation: ask.operation })

  expect(deleted).toEqual({ outcome: 'deleted' })
  expect(await cell.ask('volume-snapshot.create', ask)).toEqual({ outcome: 'deleted' })
})

test.each([
  ['a volume that is not here', () => ({ volumeId: newId() }), 'is not in this cell'],
  ['another attempt of the volume', () => ({ attempt: 2 }), 'is not in this cell'],
])('a snapshot of %s is refused for good', async (_, change, reason) => {
  const ask = askOf(change())
  for (const _again of ['first', 'again'])
    expect(await cell.ask('volume-snapshot.create', ask)).toEqual({
      outcome: 'refused',
      reason: expect.stringContaining(reason),
    })
})

test('a snapshot is refused while no host that is up reaches the volume: it would be of another moment', async () => {
  const { hosts } = running.cell.conductor
  await cell.ask('host.set-service', { hostId: host.id, isForcedDown: true })
  await waitFor('the host is down', async () => !hosts.isUp(hosts.get(host.id)!), LIMIT_MS)

  expect(await cell.ask('volume-snapshot.create', askOf())).toEqual({
    outcome: 'refused',
    reason: 'No host that is up reaches the volume in store fake.',
  })

  await cell.ask('host.set-service', { hostId: host.id, isForcedDown: false })
  await waitFor('the host is up', async () => hosts.isUp(hosts.get(host.id)!), LIMIT_MS)
})

test('a volume stays while it has snapshots', async () => {
  const ask = { operation: { id: newId<string>(), volumeId, attempt: 1 } }
  await madeSnapshot()

  await expect(cell.ask('volume.delete', ask)).rejects.toMatchObject({ kind: 'unavailable' })

  expect((await findVolume(db(), volumeId))?.state).toBe('available')
})

test('a volume is made from a snapshot, in its store', async () => {
  const snapshotId = await madeSnapshot()
  const made = await madeVolume({ kind: 'snapshot', snapshotId, volumeId })

  expect((await findVolume(db(), made))?.storeId).toBe((await theStore()).id)
  const find = async (change: object, sizeGb = 2) => {
    const source = { kind: 'snapshot', snapshotId, volumeId, ...change } as const
    return (await findSource(running.cell.conductor, { source, sizeGb })).outcome
  }
  expect(await find({})).toBe('found')
  expect(await find({}, 1)).toBe('refused')
  expect(await find({ snapshotId: newId() })).toBe('refused')
  expect(await find({ volumeId: newId() })).toBe('refused')
})
