import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { isFailure } from '#common/errors.ts'
import { type CellId, type HostId, type InstanceId, newId } from '#common/ids.ts'
import { createFakeDriver, type FakeDriver } from '#drivers/fake/driver.ts'
import type { Fault } from '#drivers/fake/faults.ts'
import { fakeSettings } from '#drivers/fake/settings.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { TestImages } from '#drivers/testing/test-images.ts'
import { adoptionContract } from './driver-adoption.contract.ts'
import { driverChangesContract } from './driver-changes.contract.ts'
import { driverDisksContract } from './driver-disks.contract.ts'
import { driverMovesContract } from './driver-moves.contract.ts'
import { type DriverHarness, driversContract } from './drivers.contract.ts'

const HANGS = 'hangs'
const owner = { cellId: newId<CellId>(), hostId: newId<HostId>() }
const images = new TestImages()
const image = images.add(Buffer.from('x'), { properties: { hypervisor_type: 'fake' } })
const signal = () => AbortSignal.timeout(10_000)

async function startFake(): Promise<DriverHarness> {
  const stateDirectory = await mkdtemp(join(tmpdir(), 'weir-fake-'))
  const faults: Fault[] = [{ method: 'spawn', instance: HANGS, effect: { do: 'hang' } }]
  const settings = { ...fakeSettings({ persist: 'true' }), faults }
  return {
    open: async () => createFakeDriver({ stateDirectory, owner }, settings),
    image,
    hanging: (spec) => ({ ...spec, displayName: HANGS }),
    refused: { 'asks for a real guest': { ...image, properties: {} } },
    shelve: (content, diskFormat) =>
      images.add(content, { diskFormat, properties: { hypervisor_type: 'fake' } }),
    leftovers: async (id) => {
      const journal = await readFile(join(stateDirectory, 'guests.jsonl'), 'utf8')
      const lines = journal.split('\n').filter((line) => line.includes(id))
      return lines.at(-1)?.includes('"put"') === true ? lines.slice(-1) : []
    },
    [Symbol.asyncDispose]: () => rm(stateDirectory, { recursive: true, force: true }),
  }
}

driversContract('fake', startFake, ['asks for a real guest'])
driverChangesContract('fake', startFake)
driverDisksContract('fake', startFake)
driverMovesContract('fake', startFake)

describe('a fake host', () => {
  const environment = { stateDirectory: tmpdir(), owner }
  const driver = createFakeDriver(environment, fakeSettings({ persist: 'false' }))
  afterAll(() => driver[Symbol.asyncDispose]())

  adoptionContract(() => ({
    driver,
    image,
    plant: async () => {
      const size = { vcpus: 1, memoryMb: 64, rootGb: null }
      const id = newId<InstanceId>()
      driver.plant({ id, name: 'old', powerState: 'running', ...size })
      return id
    },
  }))
})

describe('faults of the fake driver', () => {
  let stateDirectory: string
  beforeEach(async () => {
    stateDirectory = await mkdtemp(join(tmpdir(), 'weir-fake-'))
  })
  afterEach(() => rm(stateDirectory, { recursive: true, force: true }))

  const driverWith = (...faults: Fault[]): FakeDriver =>
    createFakeDriver({ stateDirectory, owner }, { ...fakeSettings({ persist: 'false' }), faults })

  test('an ordered failure strikes after the calls that may pass, the ordered number of times, and leaves nothing', async () => {
    const effect = { do: 'fail', kind: 'no-capacity' } as const
    await using driver = driverWith({ method: 'spawn', after: 1, times: 1, effect })
    const [first, second] = [instanceSpec(image), instanceSpec(image)]
    await driver.spawn(first, signal())

    await expect(driver.spawn(second, signal())).rejects.toMatchObject({ kind: 'no-capacity' })

    expect(await driver.list(signal())).toEqual([{ id: first.id, powerState: 'running' }])
    await driver.spawn(second, signal())
    expect(await driver.list(signal())).toHaveLength(2)
  })

  test('a spawn that is set to fail as unavailable runs all the same', async () => {
    const effect = { do: 'fail', kind: 'unavailable' } as const
    await using driver = driverWith({ method: 'spawn', effect })
    const spec = instanceSpec(image)

    await expect(driver.spawn(spec, signal())).rejects.toMatchObject({ kind: 'unavailable' })

    expect(await driver.list(signal())).toEqual([{ id: spec.id, powerState: 'running' }])
  })

  test('a fault for one instance, by name or id, passes the others', async () => {
    const named = instanceSpec(image, { displayName: 'doomed' })
    const other = instanceSpec(image)
    const effect = { do: 'fail', kind: 'internal' } as const
    await using driver = driverWith({ method: 'any', instance: 'doomed', effect })

    await driver.spawn(other, signal())
    await expect(driver.spawn(named, signal())).rejects.toMatchObject({ kind: 'internal' })

    driver.faults.set([{ method: 'stop', instance: other.id, effect }])
    await expect(driver.stop(other.id, 0, signal())).rejects.toMatchObject({ kind: 'internal' })
  })

  test('a hanging call continues when the faults are removed', async () => {
    await using driver = driverWith({ method: 'spawn', effect: { do: 'hang' } })
    const spec = instanceSpec(image)
    const spawning = driver.spawn(spec, signal())

    expect(await driver.list(signal())).toEqual([])
    driver.faults.set([])
    await spawning

    expect(await driver.list(signal())).toHaveLength(1)
  })

  test('a slow call takes at least its time', async () => {
    await using driver = driverWith({ method: 'spawn', effect: { do: 'slow', ms: 40 } })
    const before = performance.now()

    await driver.spawn(instanceSpec(image), signal())

    expect(performance.now() - before).toBeGreaterThan(38)
  })

  test('a lie changes the answer of list() and nothing else', async () => {
    await using driver = driverWith({
      method: 'list',
      effect: { do: 'lie', powerState: 'crashed' },
    })
    const spec = instanceSpec(image)
    await driver.spawn(spec, signal())

    expect(await driver.list(signal())).toEqual([{ id: spec.id, powerState: 'crashed' }])

    driver.faults.set([])
    expect(await driver.list(signal())).toEqual([{ id: spec.id, powerState: 'running' }])
  })

  test('a host that died is unavailable for every call until it is revived', async () => {
    await using driver = driverWith({ method: 'spawn', effect: { do: 'die' } })
    const dead = { kind: 'unavailable' }

    await expect(driver.spawn(instanceSpec(image), signal())).rejects.toMatchObject(dead)
    await expect(driver.list(signal())).rejects.toMatchObject(dead)
    await expect(driver.inventory(signal())).rejects.toMatchObject(dead)

    driver.faults.set([])
    expect(await driver.list(signal())).toEqual([])
  })

  test('a faults file makes a host fail from outside', async () => {
    const file = join(stateDirectory, 'faults.json')
    const settings = fakeSettings({ faults_file: file, persist: 'false' })
    await using driver = createFakeDriver({ stateDirectory, owner }, settings)
    await driver.list(signal())

    await writeFile(file, JSON.stringify([{ method: 'list', effect: { do: 'die' } }]))
    const failure: unknown = await driver.list(signal()).catch((error: unknown) => error)
    expect(isFailure(failure, 'unavailable')).toBe(true)

    await rm(file)
    expect(await driver.list(signal())).toEqual([])
  })

  test("the console log shows the guest's history, its newest part when it is cut", async () => {
    await using driver = driverWith()
    const spec = instanceSpec(image, { displayName: 'web' })
    await driver.spawn(spec, signal())
    await driver.reboot(spec.id, 'soft', 0, signal())

    const read = async (bytes: number) =>
      Buffer.from(await driver.consoleLog!.read(spec.id, bytes, signal())).toString()

    expect(await read(10_000)).toContain(`booted web (guest-1)`)
    expect(await read(10_000)).toContain(spec.id)
    expect(await read(7)).toBe('(soft)\n')
  })

  test('the journal survives a last line that was cut off, and stays bounded', async () => {
    const settings = fakeSettings({ persist: 'true' })
    const spec = instanceSpec(image)
    {
      await using driver = createFakeDriver({ stateDirectory, owner }, settings)
      await driver.spawn(spec, signal())
      for (let turn = 0; turn < 6_000; turn++) {
        await driver.stop(spec.id, 0, signal())
        await driver.start(spec.id, signal())
      }
    }
    const journal = join(stateDirectory, 'guests.jsonl')
    expect((await readFile(journal, 'utf8')).split('\n').length).toBeLessThan(10_010)
    await writeFile(journal, '{"put":{"id":"cut', { flag: 'a' })

    await using again = createFakeDriver({ stateDirectory, owner }, settings)

    expect(await again.list(signal())).toEqual([{ id: spec.id, powerState: 'running' }])
  })
})
