import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { Failure } from '#common/errors.ts'
import { type CellId, type HostId, type InstanceId, newId, type VolumeId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import { waitFor } from '#common/wait-for.ts'
import type { InstanceReport } from '#drivers/driver.ts'
import { createFakeDriver, type FakeDriver } from '#drivers/fake/driver.ts'
import { fakeSettings } from '#drivers/fake/settings.ts'
import type { Compute, ImageFiller } from './compute.ts'
import { Fence } from './fence.ts'
import { Attempts } from './guests/attempts.ts'
import { InstanceWorkQueue } from './guests/instance-work-queue.ts'
import { OperationMemory } from './guests/operation-memory.ts'
import { KeptDisks } from './kept-disks.ts'
import { Reporter } from './reporter.ts'

const WAIT_MS = 30_000

/** A compute whose backend is gone, and a bus that stores all messages and refuses the first one. */
async function withSilentBackend(
  work: (
    reporter: Reporter,
    sent: { alive: unknown[]; report: unknown[] },
    driver: FakeDriver,
    /** Says that a guest has changed its power. */
    change: (report: InstanceReport) => void,
  ) => Promise<void>,
): Promise<void> {
  const stateDirectory = await mkdtemp(join(tmpdir(), 'reporter-'))
  const gone = () => Promise.reject(new Failure('unavailable', 'no backend'))
  const owner = { cellId: newId<CellId>(), hostId: newId<HostId>() }
  const driver = createFakeDriver(
    { stateDirectory, owner },
    fakeSettings({ metrics: 'cpu.percent=20' }),
  )
  const sent: { alive: unknown[]; report: unknown[] } = { alive: [], report: [] }
  let refused = 0
  const nats = {
    isClosed: () => false,
    publish: (subject: string, payload: string) => {
      refused += 1
      if (refused === 1) throw new Error('too large')
      if (subject.endsWith('power')) return
      sent[subject.endsWith('alive') ? 'alive' : 'report'].push(JSON.parse(payload))
    },
  }
  await using memory = await OperationMemory.open({ file: join(stateDirectory, 'operations') })
  const log = createLogger('test', 'silent')
  await using workQueue = new InstanceWorkQueue(systemClock, memory, log)
  const file = join(stateDirectory, 'attempts')
  await using attempts = await Attempts.open({ file, clock: systemClock, retentionMs: 1_000 })
  const fenced = { file: join(stateDirectory, 'fence'), driver, clock: systemClock, log }
  await using fence = await Fence.open(fenced)
  let change: (report: InstanceReport) => void = () => {}
  const watch: FakeDriver['watch'] = (listener) => {
    change = listener
    return driver.watch(listener)
  }
  const hostId = newId<HostId>()
  const images: ImageFiller = {
    fill: () => Promise.resolve(true),
    keep: () => Promise.resolve({ isKept: true, isFilled: true }),
    isKept: () => Promise.resolve(true),
  }
  const compute: Compute = {
    attempts,
    fence,
    host: {
      id: hostId,
      cellId: newId<CellId>(),
      address: '127.0.0.1',
      name: 'host',
      zone: null,
      offer: {},
    },
    driver: { ...driver, watch, inventory: gone, list: gone },
    images,
    keptDisks: new KeptDisks({
      ...{ folder: join(stateDirectory, 'kept-disks'), hostId, images, log, clock: systemClock },
    }),
    workQueue,
    metadata: undefined,
    log,
    startedAt: 0,
    answerWithinMs: 1_000,
    reportedGuestsMax: 10,
    lastInventory: null,
    lastReport: null,
  }
  try {
    await using reporter = new Reporter(compute, nats, systemClock)
    await work(reporter, sent, driver, change)
  } finally {
    await driver[Symbol.asyncDispose]()
    await rm(stateDirectory, { recursive: true })
  }
}

test('a host whose backend is gone does not call itself well while it makes itself known again', () =>
  withSilentBackend(async (reporter, { alive, report }) => {
    await waitFor('a report', () => report.length > 0, WAIT_MS)
    const reports = alive.length
    reporter.forget()
    await waitFor('a sign of life', () => alive.length > reports, WAIT_MS)

    expect(alive.at(-1)).toMatchObject({ down: expect.stringContaining('no backend') })
    expect(report).toHaveLength(1)
    await reporter.report()
    expect(report).toHaveLength(2)
  }))

test('after a guest has changed its power, the next look is sent even if it finds what the last one did', () =>
  withSilentBackend(async (reporter, { report }, _driver, change) => {
    await reporter.report()
    await reporter.report()
    const before = report.length
    await reporter.report()
    expect(report).toHaveLength(before)

    change({ id: newId<InstanceId>(), powerState: 'running' })
    await reporter.report()

    expect(report).toHaveLength(before + 1)
  }))

test('a word the bus refuses does not end the reporter', () =>
  withSilentBackend(async (_reporter, { alive }) => {
    await waitFor('two signs of life', () => alive.length >= 2, WAIT_MS)
  }))

test('a small change of the room in a store is no news, and a large one and a store that goes are', () =>
  withSilentBackend(async (reporter, { report }, driver) => {
    await waitFor('a report', () => report.length > 0, WAIT_MS)
    const signal = AbortSignal.timeout(WAIT_MS)
    const [store] = await driver.volumes!.stores(signal)
    const { id, totalBytes } = store!
    const fill = (bytes: number) =>
      driver.volumes!.create({ store: id, id: newId<VolumeId>(), bytes }, signal)

    await fill(totalBytes / 1_000)
    await reporter.report()
    expect(report).toHaveLength(1)

    await fill(totalBytes / 10)
    await reporter.report()
    expect(report).toHaveLength(2)

    driver.faults.set([{ method: 'stores', effect: { do: 'fail', kind: 'unavailable' } }])
    await reporter.report()
    expect(report.slice(1)).toMatchObject([{ stores: [{ id }] }, { stores: [] }])
  }))

test('what the driver measures goes out once, and what it cannot measure is unknown', () =>
  withSilentBackend(async (_reporter, { alive }, driver) => {
    const measured = () => (alive as { metrics?: object }[]).flatMap(({ metrics }) => metrics ?? [])
    await waitFor('a measurement', () => measured().length > 0, WAIT_MS)
    expect(measured()[0]).toEqual({ 'cpu.percent': 20 })

    const until = alive.length + 2
    await waitFor('two signs of life', () => alive.length >= until, WAIT_MS)
    expect(measured()).toHaveLength(1)

    driver.faults.set([{ method: 'metrics', effect: { do: 'fail', kind: 'unavailable' } }])
    await waitFor('the next measurement', () => measured().length > 1, WAIT_MS)
    expect(measured()[1]).toEqual({})
  }))
