import { once } from 'node:events'
import { expect, test } from 'vitest'
import type { InstanceId } from '#common/ids.ts'
import { CONSOLE_KINDS } from '#drivers/consoles.ts'
import type { Driver, InstanceSpec } from '#drivers/driver.ts'
import { METRIC_NAMES } from '#drivers/host-metrics.ts'
import type { DriverHarness } from './drivers.contract.ts'

/** The state that the tests of a suite share. */
export interface DriverWorld {
  /** The harness and the driver that is open now. */
  readonly opened: () => { readonly harness: DriverHarness; readonly driver: Driver }
  readonly signal: () => AbortSignal
  readonly stateOf: (id: InstanceId) => Promise<string | undefined>
  readonly spawnNew: () => Promise<InstanceSpec>
  /** Afterwards nothing of the work's instances is left. */
  readonly cleaned: (work: () => Promise<void>) => Promise<void>
}

/** The contract of the optional parts of a driver, tested for each part that it has. Called by the suite of the core. */
export function driverPartsContract({
  opened,
  signal,
  stateOf,
  spawnNew,
  cleaned,
}: DriverWorld): void {
  test('pause() and unpause() may be repeated, but not when it is off', ({ skip }) =>
    cleaned(async () => {
      const { driver } = opened()
      const { pause } = driver
      if (pause === undefined) return skip()
      const { id } = await spawnNew()

      await pause.pause(id, signal())
      await pause.pause(id, signal())
      await expect.poll(() => stateOf(id)).toBe('paused')
      await pause.unpause(id, signal())
      await pause.unpause(id, signal())
      await expect.poll(() => stateOf(id)).toBe('running')
      await driver.stop(id, 0, signal())
      await expect(pause.pause(id, signal())).rejects.toMatchObject({ kind: 'conflict' })
    }))

  test("metrics have Nova's names, and percentages are shares of the time between two reads", async ({
    skip,
  }) => {
    const { metrics } = opened().driver
    if (metrics === undefined) return skip()
    await metrics.read(signal())
    const read = await metrics.read(signal())

    for (const [name, value] of Object.entries(read)) {
      expect(METRIC_NAMES).toContain(name)
      expect(value).toBeGreaterThanOrEqual(0)
      if (name.endsWith('.percent')) expect(value).toBeLessThanOrEqual(100)
    }
  })

  test('a paused instance can be stopped', ({ skip }) =>
    cleaned(async () => {
      const { driver } = opened()
      if (driver.pause === undefined) return skip()
      const { id } = await spawnNew()
      await driver.pause.pause(id, signal())

      await driver.stop(id, 5_000, signal())

      expect(await stateOf(id)).toBe('shutdown')
    }))

  test('a console of each kind can be opened and ends with its guest', ({ skip }) =>
    cleaned(async () => {
      const { driver, harness } = opened()
      if (driver.console === undefined) return skip()
      const { id } = await spawnNew()
      for (const kind of harness.consoles ?? CONSOLE_KINDS) {
        const console = await driver.console.open(id, kind, signal())
        const ended = once(console, 'end')
        console.resume()
        console.write('\r')

        await driver.stop(id, 0, signal())

        await ended
        const again = driver.console.open(id, kind, signal())
        await expect(again).rejects.toMatchObject({ kind: 'conflict' })
        await driver.start(id, signal())
      }
      const { consoleKinds } = driver
      if (consoleKinds === undefined) return
      for (const kind of CONSOLE_KINDS)
        expect(await consoleKinds.has(id, kind, signal())).toBe(
          (harness.consoles ?? CONSOLE_KINDS).includes(kind),
        )
    }))

  test('a suspended instance is off until it is resumed, started or rebooted', ({ skip }) =>
    cleaned(async () => {
      const { driver } = opened()
      const { suspend } = driver
      if (suspend === undefined) return skip()
      const { id } = await spawnNew()

      await suspend.suspend(id, signal())
      await suspend.suspend(id, signal())
      expect(await stateOf(id)).toBe('shutdown')
      await suspend.resume(id, signal())
      await suspend.resume(id, signal())
      expect(await stateOf(id)).toBe('running')
      await suspend.suspend(id, signal())
      await driver.reboot(id, 'hard', 0, signal())
      expect(await stateOf(id)).toBe('running')
      await driver.stop(id, 0, signal())
      await expect(suspend.suspend(id, signal())).rejects.toMatchObject({ kind: 'conflict' })
    }))

  test('a crash dump needs a running guest', ({ skip }) =>
    cleaned(async () => {
      const { driver } = opened()
      const { crashDump } = driver
      if (crashDump === undefined) return skip()
      const { id } = await spawnNew()

      await crashDump.trigger(id, signal())
      await driver.stop(id, 0, signal())
      await expect(crashDump.trigger(id, signal())).rejects.toMatchObject({ kind: 'conflict' })
    }))

  test('a rescue may be repeated and leaves nothing; an image that cannot be had costs nothing', ({
    skip,
  }) =>
    cleaned(async () => {
      const { driver, harness } = opened()
      const { rescue } = driver
      if (rescue === undefined) return skip()
      const { id } = await spawnNew()
      const configDrive = { file: Buffer.from('x') }
      const spec = { image: harness.image, configDrive, adminPassword: null, graceMs: 0 }

      const refused = { ...spec, image: Object.values(harness.refused)[0]! }
      await expect(rescue.rescue(id, refused, signal())).rejects.toMatchObject({
        kind: 'invalid',
      })
      expect(await stateOf(id)).toBe('running')
      await driver.stop(id, 0, signal())
      for (const _ of [1, 2]) await rescue.rescue(id, spec, signal())
      expect(await driver.list(signal())).toEqual([{ id, powerState: 'running' }])
      for (const _ of [1, 2]) await rescue.unrescue(id, signal())
      expect(await stateOf(id)).toBe('running')
      await rescue.rescue(id, spec, signal())
      await driver.destroy(id, signal())
      expect(await harness.leftovers(id)).toEqual([])
      await expect(rescue.rescue(id, spec, signal())).rejects.toMatchObject({ kind: 'not-found' })
    }))

  test('a password is for a guest that listens', ({ skip }) =>
    cleaned(async () => {
      const { driver } = opened()
      const { password } = driver
      if (password === undefined) return skip()
      const { id } = await spawnNew()

      await driver.stop(id, 0, signal())
      await expect(password.set(id, 'x', signal())).rejects.toMatchObject({ kind: 'conflict' })
    }))

  test('figures are of a guest that runs', ({ skip }) =>
    cleaned(async () => {
      const { driver, harness } = opened()
      const { diagnostics } = driver
      if (diagnostics === undefined || harness.showsFigures === false) return skip()
      const { id } = await spawnNew()

      const figures = await diagnostics.read(id, signal())

      expect(figures).toMatchObject({ powerState: 'running', hasConfigDrive: false })
      expect(figures.disks).toHaveLength(1)
      expect(figures.nics).toEqual([])
      expect(figures.cpus.length).toBeGreaterThan(0)
      expect(figures.memory.maximumMb).toBe(128)
      await driver.stop(id, 0, signal())
      await expect(diagnostics.read(id, signal())).rejects.toMatchObject({ kind: 'conflict' })
    }))
}
