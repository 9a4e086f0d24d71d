import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type CellId, type HostId, newId } from '#common/ids.ts'
import { CAPABILITIES, capabilitiesOf, DRIVER_NAMES, type DriverEnvironment } from './driver.ts'
import { createDriver } from './registry.ts'
import { SETTINGS_NEEDED } from './testing/settings-needed.ts'
import { TestImages } from './testing/test-images.ts'

describe('createDriver()', () => {
  let environment: DriverEnvironment
  beforeAll(async () => {
    const owner = { cellId: newId<CellId>(), hostId: newId<HostId>() }
    const stateDirectory = await mkdtemp(join(tmpdir(), 'weir-registry-'))
    environment = { owner, stateDirectory, images: new TestImages() }
  })
  afterAll(() => rm(environment.stateDirectory, { recursive: true, force: true }))

  test.each(DRIVER_NAMES)('makes the %s driver under its own name', async (name) => {
    await using driver = await createDriver(name, environment, SETTINGS_NEEDED[name])

    expect(driver.name).toBe(name)
    expect(driver.simulated).toBe(name === 'fake')
    // What each real driver has is in docs/reference/drivers.md, which its own test compares. A simulated guest sends nothing
    // that could be held up, needs no machine, has no name outside and no store that fills, has a console of every kind, and
    // writes no disk whose changes could be saved.
    const simulated = CAPABILITIES.filter(
      (part) =>
        ![
          'firewall',
          'routing',
          'labels',
          'guestMetadata',
          'networkStatistics',
          'machineNics',
          'nodes',
          'consoleKinds',
          'ioErrors',
          'below',
          'backupChanges',
        ].includes(part),
    )
    if (name === 'fake') expect(capabilitiesOf(driver)).toEqual(simulated)
  })

  test('names every setting that is wrong, at once', async () => {
    const settings = { virt_type: 'xen', memory_mb: 'much', vcpu: '1' }
    const creating = createDriver('libvirt', environment, settings)

    await expect(creating).rejects.toThrow(
      /virt_type: xen is none of auto, qemu, kvm[^]*memory_mb: much is not an integer[^]*vcpu is not a known setting/,
    )
  })

  test.each([
    ['not a list', '{}', 'faults: not a list'],
    ['an unknown method', '[{"method":"boot","effect":{"do":"hang"}}]', 'faults[0]: method'],
    ['an unknown effect', '[{"method":"any","effect":{"do":"melt"}}]', 'faults[0]: effect.do'],
    ['no time', '[{"method":"any","effect":{"do":"slow"}}]', 'faults[0]: effect.ms'],
  ])('faults that are %s are refused', async (_what, faults, message) => {
    await expect(createDriver('fake', environment, { faults })).rejects.toThrow(message)
  })

  test('a libvirt URI that cannot be dialled is refused', async () => {
    for (const uri of [
      'qemu+ssh://host/system',
      'nonsense',
      `qemu+unix:///system?socket=/${'x'.repeat(200)}`,
    ])
      await expect(createDriver('libvirt', environment, { uri })).rejects.toMatchObject({
        kind: 'invalid',
      })
  })
})
