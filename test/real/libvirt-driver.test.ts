import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type CellId, newId } from '#common/ids.ts'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import { startLibvirtHost } from '#deploy/libvirt-host/libvirt-host.ts'
import type { Driver, ImageSpec, InstanceSpec, NicSpec } from '#drivers/driver.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { adoptionContract } from '../contract/driver-adoption.contract.ts'
import { driversContract } from '../contract/drivers.contract.ts'
import { defineForeignGuest, startForeignGuest } from './foreign-guest.ts'
import { type LibvirtHarness, REFUSED_IMAGES, startLibvirtHarness } from './libvirt-harness.ts'
import { whyNoGuests } from './requirements.ts'

/** With --all. */
const long = test.runIf(isFullRun)

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'dnsmasq', 'genisoimage', 'syslinux']
const GUEST_CACHE = join(import.meta.dirname, '../../.weir/cache')
const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGuestKeyOfTheTest'
const BOOT_MS = 120_000
const why = whyNoGuests(COMMANDS)

describe.skipIf(why !== undefined)(
  `libvirt${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    driversContract('libvirt', () => startLibvirtHarness('contract'), REFUSED_IMAGES)

    describe('a libvirt host', () => {
      let harness: LibvirtHarness
      let driver: Driver
      let guest: ImageSpec
      const signal = () => AbortSignal.timeout(60_000)
      const console = async (spec: InstanceSpec) =>
        Buffer.from(await driver.consoleLog!.read(spec.id, 65_536, signal())).toString()
      const stateOf = async (spec: InstanceSpec) =>
        (await driver.list(signal())).find(({ id }) => id === spec.id)?.powerState
      const fetchFrom = (address: string) =>
        harness.host
          .run('curl', ['-s', '--max-time', '2', `http://${address}/`], { timeoutMs: 5_000 })
          .then(
            ({ stdout }) => stdout,
            () => '',
          )

      beforeAll(async () => {
        const [started, built] = await Promise.all([
          startLibvirtHarness('alpha'),
          buildGuestImage(GUEST_CACHE),
        ])
        harness = started
        guest = harness.images.addFile(built.path, { ...built, diskFormat: 'qcow2', name: 'tiny' })
        driver = await harness.open()
      }, 300_000)
      afterAll(async () => {
        await driver?.[Symbol.asyncDispose]()
        await harness?.[Symbol.asyncDispose]()
      })

      adoptionContract(() => ({
        driver,
        image: guest,
        plant: () => defineForeignGuest((...args) => harness.virsh(...args)),
        openOther: () => harness.openAs({ cellId: newId<CellId>(), hostId: newId() }),
      }))

      test('an adopted guest supports the acts that leave its disks and devices unchanged', async () => {
        const id = await defineForeignGuest((...args) => harness.virsh(...args))
        const spec = instanceSpec(guest, { id })
        await harness.virsh('vcpupin', id, '0', '0', '--live')
        await driver.adopt!.adopt(spec, signal())
        const [report] = (await driver.list(signal())).filter((each) => each.id === id)
        expect(report).toMatchObject({ hostNodes: [0] })

        await driver.pause!.pause(id, signal())
        await driver.pause!.unpause(id, signal())
        expect((await driver.diagnostics!.read(id, signal())).powerState).toBe('running')
        expect(await driver.consoleLog!.read(id, 100, signal())).toHaveLength(0)
        await driver.reboot(id, 'hard', 0, signal())
        expect(await stateOf(spec)).toBe('running')
        const nic = nicWith('10.88.0.10', NEXT_MAC)
        const rescue = { image: guest, adminPassword: null, graceMs: 0 }
        const keeps = { keepsEphemeral: false, runs: true }
        const refused: readonly (() => Promise<unknown>)[] = [
          () => driver.snapshot!.take(id, signal()),
          () => driver.rebuild!.rebuild(spec, keeps, signal()),
          () => driver.rescue!.rescue(id, { ...rescue, configDrive: {} }, signal()),
          () => driver.resize!.resize(spec, { runs: true, graceMs: 0 }, signal()),
          () => driver.move!.pack(id, 0, signal()),
          () => driver.password!.set(id, 'secret', signal()),
          () => driver.interfaces!.attach(id, nic, signal()),
          () => driver.interfaces!.detach(id, nic, signal()),
        ]
        for (const act of refused)
          await expect(act(), String(act)).rejects.toMatchObject({
            kind: 'unsupported',
            message: expect.stringContaining('was adopted'),
          })
        await expect(driver.console!.open(id, 'vnc', signal())).rejects.toMatchObject({
          kind: 'unsupported',
        })
        expect(await stateOf(spec)).toBe('running')

        await driver.destroy(id, signal())
        expect(await harness.leftovers(id)).toEqual([])
        expect(await harness.virsh('list', '--all', '--name')).not.toContain('kept')
      })

      test("its consoles are the guest's own: typed text is answered, the screen speaks VNC", async () => {
        const spec = instanceSpec(guest)
        await driver.spawn(spec, signal())
        await expect
          .poll(() => console(spec), { timeout: BOOT_MS, interval: 500 })
          .toContain('READY')

        const serial = await driver.console!.open(spec.id, 'serial', signal())
        let shown = ''
        serial.on('data', (chunk: Buffer) => {
          shown += chunk.toString('latin1')
        })
        serial.write('\necho sum=$((20+22))\n')
        await expect.poll(() => shown).toContain('sum=42')

        const screen = await driver.console!.open(spec.id, 'vnc', signal())
        const [hello] = (await once(screen, 'data')) as [Buffer]
        expect(hello.toString('latin1')).toBe('RFB 003.008\n')
        const ended = Promise.all([serial, screen].map((each) => once(each, 'end')))
        screen.resume()
        await driver.destroy(spec.id, signal())
        await ended
      })

      test('inventory() is the stated share of the machine and names the hypervisor', async () => {
        const inventory = await driver.inventory(signal())

        expect(inventory).toMatchObject({ vcpus: 2, memoryMb: 1024, diskGb: 20 })
        expect(inventory.hypervisor).toMatchObject({ type: 'QEMU', hostname: 'alpha' })
        expect(inventory.hypervisor.version).toBeGreaterThan(1_000_000)
        expect(inventory.architecture).toBe('x86_64')
        expect(inventory.cpu.features.length).toBeGreaterThan(5)
      })

      test('a guest boots, gets its metadata and its address, and lives through everything', async () => {
        const nic = nicWith('10.90.0.10', 'fa:16:3e:00:00:10')
        const spec = guestSpec(guest, [nic])

        await driver.spawn(spec, signal())
        await driver.firewall!.apply([{ instance: spec.id, nic, rules: null }], signal())

        await expect.poll(() => console(spec), { timeout: BOOT_MS }).toContain('READY')
        const log = await console(spec)
        expect(log).toContain(`uuid=${spec.id} hostname=guest-1`)
        expect(log).toContain(`key=${KEY}`)
        expect(log).toContain('user data ran on guest-1')
        expect(log).toContain('disk vda 2097152 sectors')
        expect(log).toContain('disk vdb 2097152 sectors')
        expect(log).toContain('disk vdc 131072 sectors')
        expect(log).toContain('nic eth0 fa:16:3e:00:00:10')
        expect(log).toContain('address eth0 10.90.0.10')
        expect((await fetchFrom('10.90.0.10')).trim()).toBe('guest-1')

        await harness.host.stopDaemon()
        await expect.poll(() => kindOf(driver.list(signal()))).toBe('unavailable')
        expect(await kindOf(driver.inventory(signal()))).toBe('unavailable')
        const seen: string[] = []
        await using _watching = driver.watch((report) => seen.push(report.powerState))
        await harness.host.restartDaemon()
        await expect.poll(() => stateOf(spec).catch(String)).toBe('running')
        expect((await fetchFrom('10.90.0.10')).trim()).toBe('guest-1')

        await driver.stop(spec.id, 60_000, signal())
        expect(await stateOf(spec)).toBe('shutdown')
        expect(await console(spec)).toContain('power button pressed')
        await expect.poll(() => seen).toContain('shutdown')

        await driver.start(spec.id, signal())
        await expect
          .poll(() => console(spec), { timeout: BOOT_MS })
          .toContain('boot 2 of this disk')
        await expect.poll(() => fetchFrom('10.90.0.10'), { timeout: BOOT_MS }).toContain('guest-1')

        await driver.destroy(spec.id, signal())
        expect(await harness.leftovers(spec.id)).toEqual([])
      })

      long('instances on one network share a bridge, which goes with the last', async () => {
        const nic = nicWith('10.91.0.10', 'fa:16:3e:00:00:11')
        const other: NicSpec = { ...nic, portId: newId(), macAddress: 'fa:16:3e:00:00:12' }
        const specs = [
          nic,
          { ...other, fixedIps: [{ ...nic.fixedIps[0]!, address: '10.91.0.11' }] },
        ]
        const [one, two] = specs.map((n) => instanceSpec(harness.image, { nics: [n] }))
        const networks = async () => (await harness.virsh('net-list', '--name')).trim().split('\n')

        await Promise.all([driver.spawn(one!, signal()), driver.spawn(two!, signal())])

        const [network, ...more] = await networks()
        expect(more).toEqual([])
        const dhcp = await harness.virsh('net-dumpxml', network!)
        expect(dhcp).toContain("mac='fa:16:3e:00:00:11' ip='10.91.0.10'")
        expect(dhcp).toContain("mac='fa:16:3e:00:00:12' ip='10.91.0.11'")
        await driver.destroy(one!.id, signal())
        const left = await harness.virsh('net-dumpxml', network!)
        expect(left).not.toContain('10.91.0.10')
        expect(left).toContain('10.91.0.11')
        await driver.destroy(two!.id, signal())
        expect(await networks()).toEqual([''])
      })

      long('NICs with and without address share a network, also when two go at once', async () => {
        const nic = nicWith('10.97.0.10', NEXT_MAC)
        const specs = [nic, { ...nic, macAddress: 'fa:16:3e:00:00:21', fixedIps: [] }].map((n) =>
          instanceSpec(harness.image, { nics: [n] }),
        )
        await Promise.all(specs.map((spec) => driver.spawn(spec, signal())))

        await Promise.all(specs.map((spec) => driver.destroy(spec.id, signal())))

        expect(await harness.leftovers(specs[0]!.id)).toEqual([])
      })

      long('spawn() takes over an address whose former holder left its entry behind', async () => {
        const nic = nicWith('10.92.0.10', 'fa:16:3e:00:00:13')
        const keeper = instanceSpec(harness.image, {
          nics: [{ ...nic, macAddress: 'fa:16:3e:00:00:14', fixedIps: nic.fixedIps }],
        })
        const successor = instanceSpec(harness.image, { nics: [nic] })
        await driver.spawn(keeper, signal())

        await driver.spawn(successor, signal())

        const [network] = (await harness.virsh('net-list', '--name')).trim().split('\n')
        const dhcp = await harness.virsh('net-dumpxml', network!)
        expect(dhcp).toContain("mac='fa:16:3e:00:00:13' ip='10.92.0.10'")
        expect(dhcp).not.toContain('fa:16:3e:00:00:14')
        await driver.destroy(keeper.id, signal())
        await driver.destroy(successor.id, signal())
        expect(await harness.leftovers(successor.id)).toEqual([])
      })

      test('domains and networks of others are neither listed nor touched', async () => {
        await startForeignGuest((...args) => harness.virsh(...args))
        const stranger = await harness.openAs({ ...harness.owner, cellId: newId<CellId>() })
        const theirs = instanceSpec(harness.image, { nics: [nicWith('10.93.0.9', NEXT_MAC)] })
        await stranger.spawn(theirs, signal())

        expect(await driver.list(signal())).toEqual([])
        await driver.destroy(theirs.id, signal())
        const claimed = instanceSpec(harness.image, { id: theirs.id })
        await expect(driver.spawn(claimed, signal())).rejects.toMatchObject({ kind: 'conflict' })

        expect(await harness.virsh('list', '--name')).toContain('foreign')
        expect(await harness.virsh('net-list', '--name')).toContain('foreign')
        expect(await stranger.list(signal())).toEqual([{ id: theirs.id, powerState: 'running' }])
        await stranger.destroy(theirs.id, signal())
        await stranger[Symbol.asyncDispose]()
        await harness.virsh('destroy', 'foreign')
        await harness.virsh('net-destroy', 'foreign')
      })

      test('one image wanted by several spawns is fetched once', async () => {
        const image = harness.images.add(Buffer.alloc(4096, 7))
        const specs = [instanceSpec(image), instanceSpec(image)]

        await Promise.all(specs.map((spec) => driver.spawn(spec, signal())))

        expect(harness.images.opened.get(image.id)).toBe(1)
        for (const spec of specs) await driver.destroy(spec.id, signal())
      })

      test('a spawn interrupted after any of its files is rebuilt by the next one', async () => {
        const spec = instanceSpec(harness.image, { nics: [nicWith('10.94.0.9', NEXT_MAC)] })
        await driver.spawn(spec, signal())
        // As a process that died between plugging the network and defining the domain leaves it.
        await harness.virsh('destroy', `weir-${spec.id}`)
        await harness.virsh('undefine', `weir-${spec.id}`)

        await driver.spawn(spec, signal())

        expect(await stateOf(spec)).toBe('running')
        await driver.destroy(spec.id, signal())
        expect(await harness.leftovers(spec.id)).toEqual([])
      })

      test('a spawn that fails at its very end leaves nothing', async () => {
        const spec = instanceSpec(harness.image, { nics: [nicWith('10.98.0.9', NEXT_MAC)] })
        const huge = { ...spec, flavor: { ...spec.flavor, memoryMb: 64 * 1024 ** 2 } }

        expect(await kindOf(driver.spawn(huge, signal()))).toBe('internal')

        expect(await harness.leftovers(spec.id)).toEqual([])
        expect(await driver.list(signal())).toEqual([])
      })

      test.each([0, 15, 40, 80, 160, 320])(
        'a destroy that comes %i ms after the spawn leaves nothing',
        async (ms) => {
          const spec = instanceSpec(harness.image, { nics: [nicWith('10.99.0.9', NEXT_MAC)] })
          const outcome = kindOf(driver.spawn(spec, signal()))
          await sleep(ms)

          await driver.destroy(spec.id, signal())

          expect([undefined, 'conflict']).toContain(await outcome)
          expect(await harness.leftovers(spec.id)).toEqual([])
        },
      )

      test('a spawn whose daemon goes away is repeated until it runs, once', async () => {
        const spec = instanceSpec(harness.image, { nics: [nicWith('10.100.0.9', NEXT_MAC)] })
        const outcome = kindOf(driver.spawn(spec, signal()))
        await sleep(150)
        await harness.host.restartDaemon()
        expect([undefined, 'unavailable']).toContain(await outcome)

        await expect.poll(() => kindOf(driver.spawn(spec, signal()))).toBeUndefined()

        expect(await driver.list(signal())).toEqual([{ id: spec.id, powerState: 'running' }])
        await driver.destroy(spec.id, signal())
        expect(await harness.leftovers(spec.id)).toEqual([])
      })

      long('a second host beside it has guests, networks and names of its own', async () => {
        await using beta = await startLibvirtHarness('beta')
        await using second = await beta.open()
        const same = nicWith('10.95.0.9', NEXT_MAC)
        const [here, there] = [harness.image, beta.image].map((i) =>
          instanceSpec(i, { nics: [same] }),
        )

        await driver.spawn(here!, signal())
        await second.spawn(there!, signal())

        expect((await second.inventory(signal())).hypervisor.hostname).toBe('beta')
        expect(await second.list(signal())).toEqual([{ id: there!.id, powerState: 'running' }])
        await beta.host.stop()
        expect(await driver.list(signal())).toEqual([{ id: here!.id, powerState: 'running' }])
        await driver.destroy(here!.id, signal())
      })

      long('guests of a stopped host exist, switched off, when it starts again', async () => {
        const spec = instanceSpec(harness.image, { nics: [nicWith('10.96.0.9', NEXT_MAC)] })
        await driver.spawn(spec, signal())

        await harness.host.stop()
        const directory = join(harness.host.socketPath, '../..')
        const again = await startLibvirtHost({ directory, name: 'alpha' })

        try {
          await expect.poll(() => stateOf(spec).catch(String)).toBe('shutdown')
          await driver.start(spec.id, signal())
          expect(await stateOf(spec)).toBe('running')
          await driver.destroy(spec.id, signal())
          expect(await driver.list(signal())).toEqual([])
        } finally {
          await again.stop()
        }
      })
    })
  },
)

const NEXT_MAC = 'fa:16:3e:00:00:20'

function nicWith(address: string, macAddress: string): NicSpec {
  const net = address.split('.').slice(0, 3).join('.')
  const gateway = `${net}.1`
  return {
    portId: newId(),
    networkId: newId(),
    macAddress,
    mtu: 1450,
    fixedIps: [{ address, cidr: `${net}.0/24`, gateway, dhcp: true, dnsServers: ['192.0.2.53'] }],
  }
}

function guestSpec(image: ImageSpec, nics: readonly NicSpec[]): InstanceSpec {
  const small = instanceSpec(image, { nics })
  const spec = { ...small, flavor: { ...small.flavor, ephemeralGb: 1, swapMb: 64 } }
  const keys = { mine: KEY }
  const metadata = { uuid: spec.id, hostname: spec.hostname, public_keys: keys }
  return {
    ...spec,
    configDrive: {
      'openstack/latest/meta_data.json': Buffer.from(JSON.stringify(metadata)),
      'openstack/latest/user_data': Buffer.from('#!/bin/sh\necho user data ran on $(hostname)\n'),
    },
  }
}

async function kindOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: { kind?: unknown }) => error.kind,
  )
}
