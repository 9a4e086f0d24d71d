import { afterAll, beforeAll, expect, test } from 'vitest'
import { workContext } from '#common/context.ts'
import type { Tx } from '#common/db/database.ts'
import { newId, type SagaId, type VolumeId, type VolumeSnapshotId } from '#common/ids.ts'
import { CrashingDatabase, trialsOf } from '#common/saga/testing.ts'
import { waitFor } from '#common/wait-for.ts'
import type { VolumeAttemptRef, VolumeSource } from '#openapi/wire/cell-volume.ts'
import type { FeedBody } from '#openapi/wire/feed.ts'
import { cellEngine } from '#test/env/cell-engine.ts'
import { type TestCell, type TestHost, testCell } from '#test/env/test-cell.ts'
import type { RunningCell } from '../../context.ts'
import { feed } from '../../db/schema/feed.ts'
import { purgeStores, readStores, recordStores } from '../../db/stores.ts'
import { findVolumeKeys } from '../../db/volume-keys.ts'
import { findVolume, queueVolumeAttempt } from '../../db/volumes.ts'
import { contentForHost, findSource } from '../../volumes/source.ts'
import { GIB } from '../../volumes/store.ts'
import { newVolumeKey } from '../../volumes/volume-keys.ts'
import { createVolumeSaga } from './create-volume.ts'
import { deleteVolumeSaga } from './delete-volume.ts'
import { extendVolumeSaga } from './extend-volume.ts'
import { revertVolumeSaga } from './revert-volume.ts'
import { sealedTarget, uploadVolumeSaga } from './upload-volume.ts'

// Goal: whatever fails, repeats or dies, a volume is whole in its store and counted once, or nothing of it is left.

let cell: TestCell
let running: RunningCell
let host: TestHost

beforeAll(async () => {
  cell = await testCell('volume_sagas')
  running = await cell.addProcess('one')
  host = await cell.addHost({ name: 'host' })
  await cell.waitForHosts(running, 1)
  await waitFor(
    'a store',
    async () => (await readStores(running.cell.conductor.db)).length === 1,
    30_000,
  )
})

afterAll(() => cell?.[Symbol.asyncDispose]())

const AES_256 = { keyBits: 256 } as const
const signal = () => AbortSignal.timeout(10_000)
const theStore = async () => (await readStores(running.cell.conductor.db))[0]!

function operationOn(): VolumeAttemptRef {
  return { id: newId<string>(), volumeId: newId<VolumeId>(), attempt: 1 }
}

async function createStart(operation = operationOn(), isEncrypted = false) {
  const { id: storeId, name: storeName } = await theStore()
  const place = { storeId, storeName, hostId: host.id, zone: 'nova' }
  const { secrets } = running.cell.conductor
  const key = newVolumeKey(secrets, operation.volumeId as VolumeId)
  const sealed = isEncrypted ? { encryption: AES_256, key } : {}
  const sizes = { sizeGb: 2, limitGb: 1_000, startedAt: 1 }
  return {
    id: newId<SagaId>(),
    subject: operation.volumeId,
    params: { operation, projectId: 'demo', place, ...sizes, ...sealed },
    work: workContext({}),
    before: queueAttempt(operation),
  }
}

const queueAttempt = (operation: VolumeAttemptRef) => (tx: Tx) =>
  queueVolumeAttempt(tx, operation, { outcome: 'accepted', reason: null })

async function madeVolume(isEncrypted = false): Promise<VolumeAttemptRef> {
  const operation = operationOn()
  const run = await running.cell.sagas.start(
    createVolumeSaga,
    await createStart(operation, isEncrypted),
  )
  expect(await run.finished).toBe('done')
  return operation
}

/** Where the volume still is, as words. */
async function left({ volumeId }: VolumeAttemptRef): Promise<readonly string[]> {
  const { db } = running.cell.conductor
  const row = await findVolume(db, volumeId as VolumeId)
  const keys = await findVolumeKeys(db, [volumeId], null)
  const { id } = await theStore()
  const stored = (await host.driver.volumes!.list(id, signal())).find(
    (each) => each.id === volumeId,
  )
  return [
    ...(row === undefined ? [] : [`row ${row.state} ${row.sizeGb}`]),
    ...(stored === undefined ? [] : [`stored ${stored.bytes / GIB}`]),
    ...keys.map(() => 'key'),
  ]
}

/** The requests whose work on the volume has ended, as gateways are told. */
async function requestsThatEnded({ volumeId }: VolumeAttemptRef) {
  const rows = await running.cell.conductor.db.orm.select({ body: feed.body }).from(feed)
  const bodies = rows.map(({ body }) => JSON.parse(body) as FeedBody)
  return bodies.flatMap((body) =>
    body.kind === 'volume' && body.view.volumeId === volumeId ? [body.requestId] : [],
  )
}

/** The store counts exactly the volumes that the cell has. */
async function expectCounted(): Promise<void> {
  const { promisedGb, id } = await theStore()
  const stored = await host.driver.volumes!.list(id, signal())
  expect(promisedGb).toBe(stored.reduce((sum, { bytes }) => sum + bytes / GIB, 0))
}

const done = <S extends { readonly label: string; readonly ends: string }>(trials: readonly S[]) =>
  trials.filter(({ ends }) => ends === 'done').map((trial) => [trial.label, trial] as const)

test.each(done(trialsOf(createVolumeSaga)))(
  'a create that %s makes one volume, with its key',
  async (_, trial) => {
    const start = await createStart(operationOn(), true)
    await using engine = await cellEngine(running, trial.saga)

    const run = await engine.start(trial.saga, start)

    expect(await run.finished).toBe('done')
    expect(await left(start.params.operation)).toEqual(['row available 2', 'stored 2', 'key'])
    await expectCounted()
  },
)

test.each(done(trialsOf(extendVolumeSaga)))(
  'an extension that %s extends once',
  async (_, trial) => {
    const operation = await madeVolume()
    const volume = (await findVolume(running.cell.conductor.db, operation.volumeId as VolumeId))!
    const params = {
      operation: { ...operation, id: newId<string>() },
      volume,
      sizeGb: 5,
      limitGb: 1_000,
    }
    await using engine = await cellEngine(running, trial.saga)

    const work = workContext({})
    const run = await engine.start(trial.saga, { subject: volume.id, params, work })

    expect(await run.finished).toBe('done')
    expect(await left(operation)).toEqual(['row available 5', 'stored 5'])
    expect(await requestsThatEnded(operation)).toContain(work.requestId)
    await expectCounted()
  },
)

test.each(done(trialsOf(uploadVolumeSaga)))(
  'an upload that %s leaves the volume as it was',
  async (_, trial) => {
    const operation = await madeVolume()
    const { conductor } = running.cell
    const volume = (await findVolume(conductor.db, operation.volumeId as VolumeId))!
    const target = { imageId: newId<string>(), ticket: 'ticket' }
    const params = {
      operation: { ...operation, id: newId<string>() },
      ...{ volume, diskFormat: 'raw' as const, sealedTarget: sealedTarget(conductor, target) },
    }
    await using engine = await cellEngine(running, trial.saga)

    const run = await engine.start(trial.saga, {
      subject: volume.id,
      params,
      work: workContext({}),
    })

    expect(await run.finished).toBe('done')
    const after = await findVolume(conductor.db, volume.id)
    expect(after).toMatchObject({ state: 'available', fault: null, sagaId: null })
    expect(await left(operation)).toEqual(['row available 2', 'stored 2'])
  },
)

test.each(done(trialsOf(revertVolumeSaga)))(
  'a revert that %s leaves the volume available',
  async (_, trial) => {
    const operation = await madeVolume()
    const volume = (await findVolume(running.cell.conductor.db, operation.volumeId as VolumeId))!
    const snapshotId = newId<VolumeSnapshotId>()
    const volumes = host.driver.volumes!
    const ref = { store: volume.storeId, id: volume.id }
    await volumes.snapshot(ref, snapshotId, signal())
    const params = { operation: { ...operation, id: newId<string>() }, volume, snapshotId }
    await using engine = await cellEngine(running, trial.saga)

    const run = await engine.start(trial.saga, {
      subject: volume.id,
      params,
      work: workContext({}),
    })

    expect(await run.finished).toBe('done')
    const after = await findVolume(running.cell.conductor.db, volume.id)
    expect(after).toMatchObject({ state: 'available', fault: null, sagaId: null })
    await volumes.destroySnapshot(ref, snapshotId, signal())
  },
)

test('a revert to a snapshot that is gone leaves the volume available, with the reason', async () => {
  const operation = await madeVolume()
  const volume = (await findVolume(running.cell.conductor.db, operation.volumeId as VolumeId))!
  const revert = { ...operation, id: newId<string>() }

  for (const _ of [1, 2])
    await cell.ask('volume.revert', { operation: revert, snapshotId: newId<string>() })
  const settled = async () => {
    const now = await findVolume(running.cell.conductor.db, volume.id)
    return now?.state === 'available' && now.fault !== null ? now : undefined
  }
  const after = await waitFor('the revert to fail', settled, 30_000)

  expect(after.fault).toContain('could not be found')
})

async function deleteStart(operation: VolumeAttemptRef) {
  const volume = (await findVolume(running.cell.conductor.db, operation.volumeId as VolumeId))!
  const params = { operation: { ...operation, id: newId<string>() }, volume }
  return { subject: volume.id, params, work: workContext({}) }
}

test.each(done(trialsOf(deleteVolumeSaga)))('a delete that %s leaves nothing', async (_, trial) => {
  const operation = await madeVolume(true)
  await using engine = await cellEngine(running, trial.saga)

  const run = await engine.start(trial.saga, await deleteStart(operation))

  expect(await run.finished).toBe('done')
  expect(await left(operation)).toEqual([])
  await expectCounted()
})

const DEATHS = [1, 2].flatMap((nth) => [[nth, 'before'] as const, [nth, 'after'] as const])

test.each(DEATHS)(
  'a process killed at commit %i of a create, %s it, is succeeded by one that ends the create',
  async (dieAt, when) => {
    const start = await createStart()
    const processName = `crashing-${start.subject.slice(-12)}`
    const crashing = new CrashingDatabase(running.cell.conductor.db, dieAt, when)
    {
      await using doomed = await cellEngine(running, createVolumeSaga, crashing, processName)
      const run = await doomed.start(createVolumeSaga, start).catch(() => undefined)
      await run?.finished
    }

    await using successor = await cellEngine(running, createVolumeSaga, undefined, processName)
    await successor.recover()

    const isPromised = dieAt > 1 || when === 'after'
    const whole = isPromised ? ['row available 2', 'stored 2'] : []
    await expect.poll(() => left(start.params.operation)).toEqual(whole)
    await expectCounted()
  },
)

test('a volume that its store refuses is in error with the reason, and its delete leaves nothing', async () => {
  const effect = { do: 'fail', kind: 'internal', message: 'the disk is bad' } as const
  host.driver.faults.set([{ method: 'createVolume', times: 1, effect }])
  const operation = operationOn()
  const run = await running.cell.sagas.start(createVolumeSaga, await createStart(operation))
  expect(await run.finished).toBe('done')

  expect(await left(operation)).toEqual(['row error 2'])
  const volume = await findVolume(running.cell.conductor.db, operation.volumeId as VolumeId)
  expect(volume?.fault).toContain('the disk is bad')
  const ended = await running.cell.sagas.start(deleteVolumeSaga, await deleteStart(operation))
  expect(await ended.finished).toBe('done')
  expect(await left(operation)).toEqual([])
  await expectCounted()
})

test('a copy that is made has its own room, and outlives its source', async () => {
  const source = await madeVolume()
  const start = await createStart()
  const from = { volumeId: source.volumeId as VolumeId }
  const params = { ...start.params, source: from }
  const run = await running.cell.sagas.start(createVolumeSaga, { ...start, params })
  expect(await run.finished).toBe('done')

  const ended = await running.cell.sagas.start(deleteVolumeSaga, await deleteStart(source))
  expect(await ended.finished).toBe('done')

  expect(await left(source)).toEqual([])
  expect(await left(params.operation)).toEqual(['row available 2', 'stored 2'])
  await expectCounted()
})

test('a copy of a volume that its store does not have is in error, and nothing of it is stored', async () => {
  const start = await createStart()
  const params = { ...start.params, source: { volumeId: newId<VolumeId>() } }
  const run = await running.cell.sagas.start(createVolumeSaga, { ...start, params })
  expect(await run.finished).toBe('done')

  expect(await left(params.operation)).toEqual(['row error 2'])
  const ended = await running.cell.sagas.start(
    deleteVolumeSaga,
    await deleteStart(params.operation),
  )
  expect(await ended.finished).toBe('done')
  await expectCounted()
})

test('a source is refused where the cell does not have it whole, or it is larger', async () => {
  const { conductor } = running.cell
  const { volumeId } = await madeVolume()
  const source = { kind: 'volume', volumeId, attempt: 1 } as const
  type OfVolume = Extract<VolumeSource, { readonly kind: 'volume' }>
  const outcome = async (change: Partial<OfVolume>, sizeGb = 2) =>
    (await findSource(conductor, { source: { ...source, ...change }, sizeGb })).outcome

  expect(await findSource(conductor, { source, sizeGb: 2 })).toEqual({
    outcome: 'found',
    source: { volumeId },
    sourceStoreId: (await theStore()).id,
    hostId: null,
  })
  expect(await outcome({ attempt: 2 })).toBe('refused')
  expect(await outcome({ volumeId: newId<VolumeId>() })).toBe('refused')
  expect(await outcome({}, 1)).toBe('refused')
})

test('the ticket of an image is nowhere in the log of the saga, and the host gets it', async () => {
  const { conductor, sagas } = running.cell
  const ticket = 'a ticket that nobody else may have'
  const image = { id: newId(), sizeBytes: 7, sha256: '0'.repeat(64), ticket, diskFormat: 'raw' }
  const found = await findSource(conductor, { source: { kind: 'image', image }, sizeGb: 2 })
  if (found.outcome !== 'found' || found.source === undefined) throw new Error('It is refused')

  expect(JSON.stringify(found.source)).not.toContain(ticket)
  expect(contentForHost(conductor, found.source)).toEqual({ image })
  const start = await createStart()
  const run = await sagas.start(createVolumeSaga, {
    ...start,
    params: { ...start.params, source: found.source },
  })
  expect(await run.finished).toBe('done')
  expect(await left(start.params.operation)).toEqual(['row available 2', 'stored 2'])
})

test('a store that no host reaches is forgotten once it has no volume', async () => {
  const { db } = running.cell.conductor
  const report = { id: 'gone', name: 'gone', engine: 'fake', totalBytes: 1, freeBytes: 1 }
  const flags = { isShared: true, multiattach: false }
  const { promisedGb: _promised, hostIds: _hosts, ...reported } = await theStore()
  await db.transaction((tx) => recordStores(tx, host.id, [{ ...report, ...flags }]))
  await purgeStores(db)
  const gone = async () => (await readStores(db)).find(({ id }) => id === 'gone')
  expect(await gone()).not.toHaveProperty('largestVolumeBytes')
  for (const largestVolumeBytes of [0, 7]) {
    const seen = { ...report, ...flags, largestVolumeBytes }
    await db.transaction((tx) => recordStores(tx, host.id, [seen]))
    expect(await gone()).toMatchObject(seen)
  }

  await db.transaction((tx) => recordStores(tx, host.id, [reported]))
  await purgeStores(db)

  expect((await readStores(db)).map(({ id }) => id)).toEqual([reported.id])
})
