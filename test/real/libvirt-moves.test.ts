import { cp, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type InstanceId, newId } from '#common/ids.ts'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import type { Driver, ImageSpec, InstanceSpec, NicSpec } from '#drivers/driver.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { driverMovesContract } from '../contract/driver-moves.contract.ts'
import { isFullRun } from '../env/full-run.ts'
import { type LibvirtHarness, startLibvirtHarness } from './libvirt-harness.ts'
import { linkHosts } from './linked-hosts.ts'
import { whyNoGuests } from './requirements.ts'

const MIB = 1024 ** 2
const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'dnsmasq', 'genisoimage', 'syslinux']
const GUEST_CACHE = join(import.meta.dirname, '../../.weir/cache')
const ADDRESS = '10.89.0.10'
const BOOT_MS = 180_000
const TEST_MS = 600_000
const why = whyNoGuests(COMMANDS)

describe.skipIf(why !== undefined)(
  `libvirt guests that change their host${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const extent = isFullRun ? 'all' : 'sample'
    driverMovesContract('libvirt', () => startLibvirtHarness('mover'), extent)

    test.skipIf(!isFullRun)(
      'with UEFI they go over a network while they run, and start again with what their firmware knew',
      async () => {
        await using one = await startLibvirtHarness('near')
        await using two = await startLibvirtHarness('far')
        const [near, far] = await linkHosts(one.host, two.host)
        await using here = await one.openAs(one.owner, { liveUri: `qemu+tcp://${near}/system` })
        await using there = await two.openAs(two.owner, { liveUri: `qemu+tcp://${far}/system` })
        const signal = () => AbortSignal.timeout(60_000)
        const properties = { hw_firmware_type: 'uefi' }
        const spec = instanceSpec({ ...one.image, properties })
        const flavor = { ...spec.flavor, ephemeralGb: 1, swapMb: 64 }
        const full = { ...spec, flavor }
        await expect.poll(() => here.list(signal()).catch(() => null)).toEqual([])
        await here.spawn(full, signal())

        const announced = await here.liveMove!.announce(spec.id, signal())
        const expected = await there.liveMove!.expect(full, announced, signal())
        await here.liveMove!.send(spec.id, expected, signal())
        await there.liveMove!.finish(full, true, signal())

        expect(await there.list(signal())).toEqual([{ id: spec.id, powerState: 'running' }])
        await here.destroy(spec.id, signal())
        await there.reboot(spec.id, 'hard', 0, signal())
        expect(await two.virsh('dumpxml', `weir-${spec.id}`)).toContain('nvram.fd')
        await there.destroy(spec.id, signal())
        for (const harness of [one, two]) expect(await harness.leftovers(spec.id)).toEqual([])
      },
      TEST_MS,
    )

    test.skipIf(!isFullRun)(
      'from a dead host whose disks are seen from others they come with their disks, or stay where they are',
      async () => {
        await using one = await startLibvirtHarness('one')
        await using two = await startLibvirtHarness('two')
        const sharedFolder = await mkdtemp(join(tmpdir(), 'weir-ls-'))
        const state = (name: string) => join(sharedFolder, name)
        const openAt = (harness: LibvirtHarness, name: string) =>
          harness.openAs(harness.owner, { sharedFolder }, state(name))
        await using here = await openAt(one, 'one')
        await using there = await openAt(two, 'two')
        const signal = () => AbortSignal.timeout(60_000)
        const image = one.image
        const spec = instanceSpec(image, { nics: [nic] })
        const diskIn = (name: string) => join(state(name), 'instances', spec.id, 'root.qcow2')
        const there2 = { ...spec, image: { ...image, id: two.image.id } }
        await here.spawn(spec, signal())
        const { ino } = await stat(diskIn('one'))

        // Its guest still has the disk open, so it cannot be opened twice.
        await expect(there.move!.evacuate(there2, { runs: true }, signal())).rejects.toThrow()
        expect((await stat(diskIn('one'))).ino).toBe(ino)
        expect(await two.leftovers(spec.id)).toEqual([])
        expect(await here.list(signal())).toEqual([{ id: spec.id, powerState: 'running' }])

        await here.stop(spec.id, 0, signal())
        await cp(join(state('one'), 'instances'), join(state('stale'), 'instances'), {
          recursive: true,
        })
        await expect(there.move!.evacuate(there2, { runs: true }, signal())).rejects.toMatchObject({
          kind: 'conflict',
        })
        await rm(state('stale'), { recursive: true })
        for (const _ of [1, 2]) await there.move!.evacuate(there2, { runs: true }, signal())
        expect((await stat(diskIn('two'))).ino).toBe(ino)
        expect(await there.list(signal())).toEqual([{ id: spec.id, powerState: 'running' }])
        await here.destroy(spec.id, signal())
        expect(await one.leftovers(spec.id)).toEqual([])
        expect(await there.list(signal())).toEqual([{ id: spec.id, powerState: 'running' }])
        await there.destroy(spec.id, signal())
        expect(await two.leftovers(spec.id)).toEqual([])
        await rm(sharedFolder, { recursive: true })
      },
      TEST_MS,
    )

    describe.skipIf(!isFullRun)('with an operating system', () => {
      let harnesses: readonly [LibvirtHarness, LibvirtHarness]
      let here: Driver
      let there: Driver
      let guest: ImageSpec
      const signal = () => AbortSignal.timeout(BOOT_MS)
      const statesOf = async (id: InstanceId) =>
        Promise.all(
          [here, there].map(
            async (driver) =>
              (await driver.list(signal())).find((report) => report.id === id)?.powerState,
          ),
        )
      const untilConsole = (driver: Driver, { id }: InstanceSpec, text: string) =>
        expect
          .poll(
            async () => Buffer.from(await driver.consoleLog!.read(id, 65_536, signal())).toString(),
            { timeout: BOOT_MS, interval: 1_000 },
          )
          .toContain(text)
      /** What the guest answers on its serial console. */
      const printed = async (driver: Driver, { id }: InstanceSpec, command: string) => {
        const serial = await driver.console!.open(id, 'serial', signal())
        let shown = ''
        serial.on('data', (chunk: Buffer) => {
          shown += chunk.toString('latin1')
        })
        const answer = /answer=([\w-]+)=/
        await expect
          .poll(
            () => {
              serial.write(`\necho answer=$(${command})=\n`)
              return shown
            },
            { timeout: BOOT_MS, interval: 2_000 },
          )
          .toMatch(answer)
        serial.destroy()
        return answer.exec(shown)?.[1]
      }
      const carry = async (id: InstanceId, from: Driver, to: Driver) => {
        const maxBytes = 1024 ** 2
        for (const { name, sizeBytes } of await from.move!.files(id, signal()))
          for (let offset = 0; offset < sizeBytes; offset += maxBytes) {
            const bytes = await from.move!.read(id, { name, offset, maxBytes }, signal())
            await to.move!.write(id, { name, offset }, bytes, signal())
          }
      }
      const expected = async (spec: InstanceSpec) => {
        const announced = await here.liveMove!.announce(spec.id, signal())
        await carry(spec.id, here, there)
        return there.liveMove!.expect(spec, announced, signal())
      }

      beforeAll(async () => {
        const [one, two, built] = await Promise.all([
          startLibvirtHarness('here'),
          startLibvirtHarness('there'),
          buildGuestImage(GUEST_CACHE),
        ])
        harnesses = [one, two]
        guest = one.images.addFile(built.path, { ...built, diskFormat: 'qcow2', name: 'tiny' })
        ;[here, there] = [await one.open(), await two.open()]
      }, 300_000)
      afterAll(async () => {
        for (const driver of [here, there]) await driver?.[Symbol.asyncDispose]()
        for (const harness of harnesses ?? []) await harness[Symbol.asyncDispose]()
      })

      test(
        'it goes over without a boot, keeps its address, can be called off, and comes back with its disk',
        async () => {
          const spec = instanceSpec(guest, {
            nics: [nic],
            configDrive: { 'openstack/latest/meta_data.json': Buffer.from('{"hostname":"m"}') },
          })
          await here.spawn(spec, signal())
          await untilConsole(here, spec, 'press Enter for a shell')
          const bootId = await printed(here, spec, 'cat /proc/sys/kernel/random/boot_id')

          const calledOff = here.liveMove!.send(spec.id, await expected(spec), signal())
          const abort = () => here.liveMove!.end(spec.id, 'abort', signal())
          await abort()
          await expect(calledOff).rejects.toMatchObject({ kind: 'conflict' })
          expect(await statesOf(spec.id)).toEqual(['running', undefined])
          await there.destroy(spec.id, signal())
          expect(await harnesses[1].leftovers(spec.id)).toEqual([])

          const sending = here.liveMove!.send(spec.id, await expected(spec), signal())
          await expect
            .poll(() => here.liveMove!.progress(spec.id, signal()).catch(String), {
              timeout: 30_000,
              interval: 20,
            })
            .toMatchObject({ memory: { total: expect.toSatisfy((total) => total > 64 * MIB) } })
          await here.liveMove!.end(spec.id, 'complete', signal())
          await sending
          await expect(here.liveMove!.progress(spec.id, signal())).rejects.toMatchObject({
            kind: 'conflict',
          })
          await there.liveMove!.finish(spec, true, signal())
          expect(await statesOf(spec.id)).toEqual(['shutdown', 'running'])
          await here.destroy(spec.id, signal())
          expect(await harnesses[0].leftovers(spec.id)).toEqual([])
          expect(await printed(there, spec, 'cat /proc/sys/kernel/random/boot_id')).toBe(bootId)
          await there.firewall!.apply([{ instance: spec.id, nic, rules: null }], signal())
          const asked = ['-s', '--max-time', '5', `http://${ADDRESS}/`]
          const fetch = async () =>
            (await harnesses[1].host.run('curl', asked, { timeoutMs: 10_000 })).stdout.trim()
          await expect.poll(() => fetch().catch(String)).toBe('m')

          await there.move!.pack(spec.id, 60_000, signal())
          await carry(spec.id, there, here)
          await here.move!.arrive(spec, true, signal())
          await there.destroy(spec.id, signal())
          await untilConsole(here, spec, 'boot 2 of this disk')
          await here.destroy(spec.id, signal())
          for (const harness of harnesses) expect(await harness.leftovers(spec.id)).toEqual([])
        },
        TEST_MS,
      )
    })
  },
)

const nic: NicSpec = {
  portId: newId(),
  networkId: newId(),
  macAddress: 'fa:16:3e:00:00:40',
  mtu: 1450,
  fixedIps: [
    {
      address: ADDRESS,
      cidr: '10.89.0.0/24',
      gateway: '10.89.0.1',
      dhcp: true,
      dnsServers: ['192.0.2.53'],
    },
  ],
}
