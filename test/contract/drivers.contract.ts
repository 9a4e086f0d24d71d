import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isFailure } from '#common/errors.ts'
import { type InstanceId, newId } from '#common/ids.ts'
import type { ConsoleKind } from '#drivers/consoles.ts'
import type { Driver, ImageSpec, InstanceReport, InstanceSpec } from '#drivers/driver.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { driverPartsContract } from './driver-parts.contract.ts'

/** The world that a driver's test gives the suite: a backend that outlives the drivers opened over it. */
export interface DriverHarness extends AsyncDisposable {
  /** A driver over the same backend and the same state, as after a restart of its process. */
  open(): Promise<Driver>
  /** An image that the driver boots within a second or so. */
  readonly image: ImageSpec
  /** A spec whose spawn does not end by itself. */
  hanging(spec: InstanceSpec): InstanceSpec
  /** Images that must be refused as `invalid`, by their defect. */
  readonly refused: Readonly<Record<string, ImageSpec>>
  /** An image of this content that can be booted from. */
  shelve(content: Buffer, diskFormat: string): ImageSpec
  /** The extra specs without which no guest can run here; absent: none. */
  readonly extraSpecs?: Readonly<Record<string, string>>
  /** A driver of another cell's host over the same backend; absent: a backend has one owner. */
  openOther?(): Promise<Driver>
  /** Ends the guest from outside, like a crash; absent if only the driver can. */
  cutOff?(id: InstanceId): Promise<unknown>
  /** The consoles of a guest, where the driver has any; absent: all. */
  readonly consoles?: readonly ConsoleKind[]
  /** False where the backend lets only its own operator read diagnostics. */
  readonly showsFigures?: false
  /** The remains of this instance on the backend, by name. */
  leftovers(id: InstanceId): Promise<readonly string[]>
}

const OPERATION_MS = 60_000

/** The contract of every driver, run by each driver's own test. `refusals` names the harness's refused images. */
export function driversContract(
  name: string,
  start: () => Promise<DriverHarness>,
  refusals: readonly string[],
): void {
  describe(`the ${name} driver keeps the contract`, () => {
    let harness: DriverHarness
    let driver: Driver
    const spawned = new Set<InstanceId>()
    const signal = () => AbortSignal.timeout(OPERATION_MS)
    const newSpec = (overrides: Partial<InstanceSpec> = {}) => {
      const plain = instanceSpec(harness.image, overrides)
      const { extraSpecs = {} } = harness
      const spec = { ...plain, flavor: { ...plain.flavor, extraSpecs } }
      spawned.add(spec.id)
      return spec
    }
    const stateOf = async (id: InstanceId) =>
      (await driver.list(signal())).find((report) => report.id === id)?.powerState
    const spawnNew = async () => {
      const spec = newSpec()
      await driver.spawn(spec, signal())
      return spec
    }
    const cleaned = async (work: () => Promise<void>) => {
      try {
        await work()
      } finally {
        for (const id of spawned) await driver.destroy(id, signal())
        spawned.clear()
      }
    }

    beforeAll(async () => {
      harness = await start()
      driver = await harness.open()
    })
    afterAll(async () => {
      await driver?.[Symbol.asyncDispose]()
      await harness?.[Symbol.asyncDispose]()
    })

    test('spawn() twice makes one running instance', () =>
      cleaned(async () => {
        const spec = await spawnNew()

        await driver.spawn(spec, signal())

        expect(await driver.list(signal())).toEqual([{ id: spec.id, powerState: 'running' }])
      }))

    test('two spawn() calls at once make one running instance', () =>
      cleaned(async () => {
        const spec = newSpec()

        await Promise.all([driver.spawn(spec, signal()), driver.spawn(spec, signal())])

        expect(await driver.list(signal())).toEqual([{ id: spec.id, powerState: 'running' }])
      }))

    test('two instances are listed, and destroying one leaves the other', () =>
      cleaned(async () => {
        const [one, other] = [newSpec(), newSpec()]
        await Promise.all([driver.spawn(one, signal()), driver.spawn(other, signal())])

        await driver.destroy(one.id, signal())

        expect(await driver.list(signal())).toEqual([{ id: other.id, powerState: 'running' }])
        expect(await harness.leftovers(one.id)).toEqual([])
      }))

    test('spawn() makes a stopped instance run', () =>
      cleaned(async () => {
        const spec = await spawnNew()
        await driver.stop(spec.id, 0, signal())

        await driver.spawn(spec, signal())

        expect(await stateOf(spec.id)).toBe('running')
      }))

    test('destroy() of an absent instance, and destroying twice, change nothing', () =>
      cleaned(async () => {
        await driver.destroy(newId(), signal())
        const spec = await spawnNew()

        await driver.destroy(spec.id, signal())
        await driver.destroy(spec.id, signal())

        expect(await driver.list(signal())).toEqual([])
        expect(await harness.leftovers(spec.id)).toEqual([])
      }))

    test('destroy() ends a spawn() under way as a conflict and leaves nothing', () =>
      cleaned(async () => {
        const spec = harness.hanging(newSpec())
        const spawning = driver.spawn(spec, signal())
        const outcome = spawning.then(
          () => undefined,
          (error: unknown) => error,
        )

        await driver.destroy(spec.id, signal())

        expect(isFailure(await outcome, 'conflict')).toBe(true)
        expect(await harness.leftovers(spec.id)).toEqual([])
      }))

    test('an aborted spawn() throws the reason and leaves nothing', () =>
      cleaned(async () => {
        const spec = harness.hanging(newSpec())
        const abort = new AbortController()
        const spawning = driver.spawn(spec, abort.signal)
        const reason = new Error('the caller gave up')

        abort.abort(reason)

        await expect(spawning).rejects.toBe(reason)
        expect(await harness.leftovers(spec.id)).toEqual([])
      }))

    test.each(refusals)('spawn() refuses an image that %s and leaves nothing', (why) =>
      cleaned(async () => {
        const image = harness.refused[why]!
        const spec = { ...newSpec(), image }

        await expect(driver.spawn(spec, signal())).rejects.toMatchObject({ kind: 'invalid' })
        expect(await harness.leftovers(spec.id)).toEqual([])
      }),
    )

    test('start() and stop() may be repeated', () =>
      cleaned(async () => {
        const { id } = await spawnNew()

        await driver.start(id, signal())
        expect(await stateOf(id)).toBe('running')
        await driver.stop(id, 0, signal())
        await driver.stop(id, 0, signal())
        expect(await stateOf(id)).toBe('shutdown')
        await driver.start(id, signal())
        expect(await stateOf(id)).toBe('running')
      }))

    test.each(['soft', 'hard'] as const)('a %s reboot() leaves it running, even from off', (how) =>
      cleaned(async () => {
        const { id } = await spawnNew()

        await driver.reboot(id, how, 0, signal())
        expect(await stateOf(id)).toBe('running')
        await driver.stop(id, 0, signal())
        await driver.reboot(id, how, 0, signal())
        expect(await stateOf(id)).toBe('running')
      }),
    )

    driverPartsContract({ opened: () => ({ harness, driver }), signal, stateOf, spawnNew, cleaned })

    test('operations on an absent instance are not-found', async () => {
      const id = newId<InstanceId>()
      const works: readonly (() => Promise<unknown> | undefined)[] = [
        ...[() => driver.start(id, signal()), () => driver.stop(id, 0, signal())],
        () => driver.reboot(id, 'hard', 0, signal()),
        () => driver.pause?.pause(id, signal()),
        () => driver.consoleLog?.read(id, 100, signal()),
        () => driver.console?.open(id, 'serial', signal()),
      ]
      const absent = { kind: 'not-found' }
      for (const run of works)
        await expect(run() ?? Promise.reject(absent)).rejects.toMatchObject(absent)
    })

    test('every method refuses to start once its signal is aborted', async () => {
      const reason = new Error('too late')
      const aborted = AbortSignal.abort(reason)
      const id = newId<InstanceId>()

      await expect(driver.inventory(aborted)).rejects.toBe(reason)
      await expect(driver.list(aborted)).rejects.toBe(reason)
      await expect(driver.spawn(newSpec(), aborted)).rejects.toBe(reason)
      await expect(driver.destroy(id, aborted)).rejects.toBe(reason)
      await expect(driver.start(id, aborted)).rejects.toBe(reason)
      spawned.clear()
    })

    test('inventory() offers resources, the same with and without guests', () =>
      cleaned(async () => {
        const before = await driver.inventory(signal())
        await spawnNew()

        expect(await driver.inventory(signal())).toEqual(before)
        expect(before.vcpus).toBeGreaterThan(0)
        expect(before.memoryMb).toBeGreaterThan(0)
        expect(before.diskGb).toBeGreaterThan(0)
        expect(before.cpu.topology.sockets).toBeGreaterThan(0)
        expect(before.imageFormats).toContain(harness.image.diskFormat)
      }))

    test('watch() reports every change of power state until it is disposed', () =>
      cleaned(async () => {
        const seen: InstanceReport[] = []
        const watching = driver.watch((report) => seen.push(report))
        const { id } = await spawnNew()
        const states = () => seen.filter((r) => r.id === id).map((r) => r.powerState)

        await driver.pause?.pause(id, signal())
        await driver.pause?.unpause(id, signal())
        await driver.stop(id, 0, signal())
        await expect.poll(() => states().at(-1)).toBe('shutdown')
        await watching[Symbol.asyncDispose]()
        await driver.start(id, signal())

        const paused = driver.pause === undefined ? [] : ['paused', 'running']
        const untold = states().reduce<readonly string[]>(
          // A backend may repeat earlier reports: Docker does when its runtime is late with a pause.
          (left, state) => (state === left[0] ? left.slice(1) : left),
          ['running', ...paused, 'shutdown'],
        )
        expect(untold).toEqual([])
        expect(states().at(-1)).toBe('shutdown')
      }))

    test('a guest that ends by itself is reported, and can be started again', ({ skip }) =>
      cleaned(async () => {
        if (harness.cutOff === undefined) return skip()
        const { id } = await spawnNew()
        const seen: InstanceReport[] = []
        await using _watching = driver.watch((report) => seen.push(report))

        await harness.cutOff(id)

        const off = { id, powerState: 'shutdown' }
        await expect.poll(() => seen).toContainEqual(off)
        expect(await driver.list(signal())).toEqual([off])
        await driver.start(id, signal())
        expect(await stateOf(id)).toBe('running')
      }))

    test('an instance of another owner is neither listed nor touched', ({ skip }) =>
      cleaned(async () => {
        if (harness.openOther === undefined) return skip()
        const spec = await spawnNew()
        await using other = await harness.openOther()

        expect(await other.list(signal())).toEqual([])
        await other.destroy(spec.id, signal())
        const absent = { kind: 'not-found' }
        await expect(other.stop(spec.id, 0, signal())).rejects.toMatchObject(absent)

        expect(await driver.list(signal())).toEqual([{ id: spec.id, powerState: 'running' }])
      }))

    test('a driver opened again finds running, paused and stopped instances as they are', () =>
      cleaned(async () => {
        const specs = [await spawnNew(), await spawnNew()]
        await driver.pause?.pause(specs[0]!.id, signal())
        await driver.stop(specs[1]!.id, 0, signal())

        await driver[Symbol.asyncDispose]()
        driver = await harness.open()

        const first = driver.pause === undefined ? 'running' : 'paused'
        expect(await stateOf(specs[0]!.id)).toBe(first)
        expect(await stateOf(specs[1]!.id)).toBe('shutdown')
        await driver.start(specs[1]!.id, signal())
        expect(await stateOf(specs[1]!.id)).toBe('running')
      }))
  })
}
