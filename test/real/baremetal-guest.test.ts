import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { instanceSpec } from '#cells/compute/guests/instance-spec.ts'
import { type InstanceId, newId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import { guestDirectory } from '#deploy/paths.ts'
import type { Driver } from '#drivers/driver.ts'
import { instanceSpec as plainSpec } from '#drivers/testing/instance-spec.ts'
import type { InstanceBuild } from '#openapi/wire/instance.ts'
import { isFullRun } from '../env/full-run.ts'
import { sampleBuild } from '../env/sample-build.ts'
import { PUBLIC_KEY } from '../env/sample-key.ts'
import { type BaremetalHarness, startBaremetalHarness } from './baremetal-harness.ts'
import { bootableCd } from './machine/bootable-cd.ts'
import { whyNoGuests } from './requirements.ts'

const PROGRAMS = ['ipmi_sim', 'ipmitool', 'qemu-system-x86_64', 'qemu-img', 'cpio', 'depmod']
const why = isFullRun ? whyNoGuests([...PROGRAMS, 'syslinux', 'genisoimage']) : 'only with --all'
const skipped = why === undefined ? '' : ` (skipped: ${why})`
/** The guest's own has 48. */
const DISK_MB = 64
/** Software emulation on a busy machine. */
const OPERATION_MS = 400_000
const USER_DATA = `#!/bin/sh
grep -o '"ethernet_mac_address":"[^"]*"\\|"ip_address":"[^"]*"' /mnt/config/openstack/latest/network_data.json
`

describe.skipIf(why !== undefined)(`a guest of a machine of its own${skipped}`, () => {
  let harness: BaremetalHarness
  let driver: Driver
  let image: InstanceBuild['image']
  const signal = () => AbortSignal.timeout(OPERATION_MS)

  beforeAll(async () => {
    harness = await startBaremetalHarness(false, { diskMb: DISK_MB, count: 1 })
    const { path, sha256, sizeBytes } = await buildGuestImage(guestDirectory)
    image = harness.images.addFile(path, { diskFormat: 'qcow2', sha256, sizeBytes })
    driver = await harness.open()
  }, 2 * OPERATION_MS)
  afterAll(async () => {
    await driver?.[Symbol.asyncDispose]()
    await harness?.[Symbol.asyncDispose]()
  })

  test(
    'gets its key, name, user data and network from a partition of its disk',
    async () => {
      const fixedIp = { address: '10.9.0.7', cidr: '10.9.0.0/24', gateway: null, dhcp: true }
      const nic = {
        ...{ portId: newId(), networkId: newId(), macAddress: 'fa:16:3e:00:00:01', mtu: 1500 },
        fixedIps: [{ ...fixedIp, dnsServers: [] }],
      }
      const id = newId<InstanceId>()
      const build = sampleBuild({
        hostname: 'metal-guest',
        configDrive: true,
        image,
        nics: [nic],
        keypair: { name: 'demo', type: 'ssh', publicKey: PUBLIC_KEY },
        userData: Buffer.from(USER_DATA).toString('base64'),
      })
      const flavor = { ...build.flavor, extraSpecs: { ...harness.extraSpecs } }

      await driver.spawn(instanceSpec(id, { ...build, flavor }), signal())

      const shown = await shownWhen(/weir-guest: READY/)
      expect(shown).toContain(`config drive: uuid=${id} hostname=metal-guest.novalocal`)
      expect(shown).toContain(`config drive: key=${PUBLIC_KEY.split(' ', 2).join(' ')}`)
      expect(shown).toContain(`"ethernet_mac_address":"${harness.nodes[0]!.macAddress}"`)
      expect(shown).toContain('"ip_address":"10.9.0.7"')

      await driver.destroy(id, signal())
      expect(await harness.leftovers(id)).toEqual([])
    },
    3 * OPERATION_MS,
  )
  test(
    'runs from a kernel, and then from a CD, and its disk stays empty',
    async () => {
      const { kernelPath } = await buildGuestImage(guestDirectory)
      const file = async (path: string) => harness.images.add(await readFile(path))
      const kernel = await file(kernelPath)
      const ramdisk = await file(join(dirname(kernelPath), 'initrd.gz'))
      const properties = { os_command_line: 'console=ttyS0 quiet mitigations=off' }
      const live = { ...harness.images.add(Buffer.alloc(512), { properties }), kernel, ramdisk }
      const plain = plainSpec(live)
      const spec = { ...plain, flavor: { ...plain.flavor, extraSpecs: { ...harness.extraSpecs } } }
      const before = (await harness.machines[0]!.consoleLog()).length

      await driver.spawn(spec, signal())
      await shownWhen(/boot 1 of this disk[^]*READY/, before)
      const cd = harness.images.add(await bootableCd(), { diskFormat: 'iso' })
      const how = { keepsEphemeral: false, runs: true }
      await driver.rebuild!.rebuild({ ...spec, image: cd }, how, signal())
      await shownWhen(/weir-guest: READY[^]*\nREADY/, before)

      await driver.destroy(spec.id, signal())
      expect(await harness.leftovers(spec.id)).toEqual([])
    },
    3 * OPERATION_MS,
  )

  async function shownWhen(what: RegExp, from = 0): Promise<string> {
    const log = async () => (await harness.machines[0]!.consoleLog()).slice(from)
    await waitFor(`the console to show ${what}`, async () => what.test(await log()), OPERATION_MS)
    return log()
  }
})
