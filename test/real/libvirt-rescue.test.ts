import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import type { Driver, ImageSpec } from '#drivers/driver.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { isFullRun } from '../env/full-run.ts'
import { type LibvirtHarness, startLibvirtHarness } from './libvirt-harness.ts'
import { whyNoGuests } from './requirements.ts'

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'genisoimage', 'syslinux']
const GUEST_CACHE = join(import.meta.dirname, '../../.weir/cache')
const BOOT_MS = 120_000
const why = whyNoGuests(COMMANDS)
/** As much of QEMU's guest agent as sets a password: it tells the console instead. */
const AGENT = String.raw`#!/bin/sh
port=$(ls /dev/vport*p1) && (
  exec 3<>"$port"
  while :; do
    # It ends whenever the daemon is not connected to the other side.
    read -r line <&3 || { sleep 1; continue; }
    case "$line" in
      *guest-sync*) id=$(echo "$line" | tr -cd '0-9'); echo "{\"return\":$id}" >&3 ;;
      *guest-set-user-password*)
        word=$(echo "$line" | sed 's/.*"password": *"\([^"]*\)".*/\1/' | base64 -d)
        user=$(echo "$line" | sed 's/.*"username": *"\([^"]*\)".*/\1/')
        echo "agent: $user now has $word" >/dev/console
        echo '{"return":{}}' >&3 ;;
    esac
  done
) &
`

describe.skipIf(why !== undefined)(
  `a guest of libvirt in need of help${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let harness: LibvirtHarness
    let driver: Driver
    let image: ImageSpec
    const signal = () => AbortSignal.timeout(60_000)

    beforeAll(async () => {
      const built = await buildGuestImage(GUEST_CACHE)
      harness = await startLibvirtHarness('rescue')
      image = harness.images.addFile(built.path, { ...built, diskFormat: 'qcow2' })
      driver = await harness.open()
    }, 300_000)
    afterAll(async () => {
      await driver?.[Symbol.asyncDispose]()
      await harness?.[Symbol.asyncDispose]()
    })

    test.runIf(isFullRun)(
      'it gets a password from its agent, is rescued beside its own disk, and is seen to stop',
      async () => {
        const drive = (hostname: string, script: string) => ({
          'openstack/latest/meta_data.json': Buffer.from(JSON.stringify({ hostname })),
          'openstack/latest/user_data': Buffer.from(script),
        })
        const spec = instanceSpec(image, { configDrive: drive('usual', AGENT) })
        const { id } = spec
        const untilConsole = (pattern: RegExp) =>
          expect
            .poll(
              async () =>
                Buffer.from(await driver.consoleLog!.read(id, 65_536, signal())).toString(),
              { timeout: BOOT_MS, interval: 500 },
            )
            .toMatch(pattern)
        await driver.spawn(spec, signal())
        await expect(driver.password!.set(id, 'early', signal())).rejects.toMatchObject({
          kind: 'conflict',
          message: /guest agent/,
        })
        await untilConsole(/READY/)

        await driver.password!.set(id, 's3cret', signal())
        await untilConsole(/agent: root now has s3cret/)

        const { disks, memory, uptime } = await driver.diagnostics!.read(id, signal())
        expect(disks[0]!.readBytes).toBeGreaterThan(1_000_000)
        expect(memory.usedMb).toBeLessThan(128)
        expect(uptime).toBeLessThan(BOOT_MS / 1_000)
        expect(await driver.uptime!.read(signal())).toMatch(/ up .* load average: /)

        const properties = { hw_rescue_device: 'disk', hw_rescue_bus: 'virtio' }
        const configDrive = drive('saved', '#!/bin/sh\n')
        const spare = { ...image, properties }
        const rescue = { image: spare, configDrive, adminPassword: null, graceMs: 0 }
        await driver.rescue!.rescue(id, rescue, signal())
        await untilConsole(/disk vda[^]*disk vda[^]*disk vdb[^]*hostname=saved[^]*READY/)

        await driver.rescue!.unrescue(id, signal())
        await untilConsole(/hostname=saved[^]*of this disk[^]*hostname=usual[^]*READY/)

        const stopped = Promise.withResolvers<void>()
        await using _watch = driver.watch((report) => {
          if (report.id === id && report.powerState === 'shutdown') stopped.resolve()
        })
        const serial = await driver.console!.open(id, 'serial', signal())
        serial.on('error', () => undefined).resume()
        serial.write('\n')
        await untilConsole(/hostname=usual[^]*#/)
        serial.write('poweroff -f\n')
        await stopped.promise

        await driver.destroy(id, signal())
        expect(await harness.leftovers(id)).toEqual([])
      },
      300_000,
    )

    test('an image with a property that this host lacks is refused, and leaves nothing', async () => {
      for (const properties of [{ hw_firmware_type: 'coreboot' }, { hw_rng_model: 'dice' }]) {
        const spec = instanceSpec({ ...image, properties })
        await expect(driver.spawn(spec, signal())).rejects.toMatchObject({ kind: 'invalid' })
        expect(await harness.leftovers(spec.id)).toEqual([])
      }
    })

    test('a guest with UEFI boots, or fails because its host has no UEFI firmware', async () => {
      const spec = instanceSpec({ ...image, properties: { hw_firmware_type: 'uefi' } })
      const outcome = await driver.spawn(spec, signal()).then(
        () => 'runs',
        ({ message }: Error) => message,
      )
      expect(['runs', 'This host has no UEFI firmware for guests (package ovmf).']).toContain(
        outcome,
      )
      await driver.destroy(spec.id, signal())
      expect(await harness.leftovers(spec.id)).toEqual([])
    })
  },
)
