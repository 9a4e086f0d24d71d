import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { errorChain, Failure, isFailure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import { startLibvirtHost } from '#deploy/libvirt-host/libvirt-host.ts'
import type { Driver, ImageSource, Owner } from '#drivers/driver.ts'
import { createLibvirtDriver } from '#drivers/libvirt/driver.ts'
import { run } from '#drivers/run.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { startForeignGuest } from './foreign-guest.ts'
import { type LibvirtHarness, startLibvirtHarness } from './libvirt-harness.ts'
import { whyNoGuests } from './requirements.ts'

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'dnsmasq', 'genisoimage', 'mount']
const COMMAND_MS = 20_000
const MIB = 1024 ** 2
/** From the end of a guest to when it is told. */
const why = whyNoGuests(COMMANDS)

describe.skipIf(why !== undefined)(
  `a libvirt host in trouble${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let harness: LibvirtHarness
    let driver: Driver
    let folder: string
    const signal = () => AbortSignal.timeout(60_000)

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'weir-lf-'))
      harness = await startLibvirtHarness('troubled')
      driver = await harness.open()
    }, 120_000)
    afterAll(async () => {
      await driver?.[Symbol.asyncDispose]()
      await harness?.[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    })

    const driverAt = (stateDirectory: string, images: ImageSource = harness.images, uri?: string) =>
      createLibvirtDriver(
        { owner: harness.owner satisfies Owner, stateDirectory, images },
        { uri: uri ?? harness.host.uri, virtType: 'qemu', vcpus: 2, memoryMb: 1024, diskGb: 20 },
      )

    test('a guest that is killed behind its back is reported at once, and starts again', async () => {
      const spec = instanceSpec(harness.image)
      await driver.spawn(spec, signal())
      const reported = Promise.withResolvers<string>()
      await using _watching = driver.watch(({ id, powerState }) => {
        // That it has started may be told late.
        if (id === spec.id && powerState !== 'running') reported.resolve(powerState)
      })

      await harness.host.run('pkill', ['-KILL', '-f', `guest=weir-${spec.id}`], {
        timeoutMs: COMMAND_MS,
      })

      expect(await reported.promise).toBe('crashed')
      await driver.start(spec.id, signal())
      expect(await driver.list(signal())).toEqual([{ id: spec.id, powerState: 'running' }])
      await driver.destroy(spec.id, signal())
    })

    test('a name that another owner has taken is refused, and that guest is left alone', async () => {
      const spec = instanceSpec(harness.image)
      const xml = `<domain type='qemu'><name>weir-${spec.id}</name><memory>65536</memory>
        <os><type>hvm</type></os></domain>`
      const file = join(folder, 'taken.xml')
      await writeFile(file, xml)
      await harness.virsh('define', file)

      await expect(driver.spawn(spec, signal())).rejects.toMatchObject({ kind: 'conflict' })

      expect(await harness.leftovers(spec.id)).toEqual([`weir-${spec.id}`])
      await harness.virsh('undefine', `weir-${spec.id}`)
      await driver.spawn(spec, signal())
      await driver.destroy(spec.id, signal())
    })

    test('a domain that goes when it stops is not adopted, and stays unmanaged', async () => {
      await startForeignGuest((...args) => harness.virsh(...args))
      const id = (await harness.virsh('domuuid', 'foreign')).trim() as InstanceId

      const taking = driver.adopt!.adopt(instanceSpec(harness.image, { id }), signal())
      await expect(taking).rejects.toMatchObject({ kind: 'conflict' })

      expect((await driver.adopt!.unmanagedGuests(signal())).map((each) => each.id)).toEqual([id])
      expect(await harness.leftovers(id)).toEqual(['foreign'])
      await harness.virsh('destroy', 'foreign')
      await harness.virsh('net-destroy', 'foreign')
    })

    test('an image that is gone is not-found, and leaves nothing', async () => {
      const images: ImageSource = {
        open: () => Promise.reject(new Failure('not-found', 'There is no such image.')),
      }
      await using without = await driverAt(join(folder, 'without'), images)
      const spec = instanceSpec({ ...harness.image, sha256: 'c'.repeat(64) })

      await expect(without.spawn(spec, signal())).rejects.toMatchObject({ kind: 'not-found' })

      expect(await without.list(signal())).toEqual([])
      expect(await harness.leftovers(spec.id)).toEqual([])
    })

    test('a full or read-only disk refuses guests and arriving disks', async () => {
      const small = join(folder, 'small')
      await mkdir(small)
      const size = ['-t', 'tmpfs', '-o', 'size=1m', 'weir-test', small]
      await run('mount', size, { timeoutMs: COMMAND_MS })
      try {
        await using full = await driverAt(small)
        const spec = instanceSpec(harness.images.add(Buffer.alloc(2 * MIB, 1)))
        const room = { kind: 'no-capacity', message: /no room left/ }

        await expect(full.spawn(spec, signal())).rejects.toMatchObject(room)
        const writing = full.move!.write(
          spec.id,
          { name: 'root', offset: 0 },
          Buffer.alloc(2 * MIB),
          signal(),
        )
        await expect(writing).rejects.toMatchObject(room)

        await full.destroy(spec.id, signal())
        await run('mount', ['-o', 'remount,ro', small], { timeoutMs: COMMAND_MS })
        const tiny = instanceSpec(harness.image)
        await expect(full.spawn(tiny, signal())).rejects.toMatchObject({
          kind: 'internal',
          message: /may not write/,
        })
        expect(await harness.leftovers(tiny.id)).toEqual([])
        const left = await run('find', [small, '-type', 'f'], { timeoutMs: COMMAND_MS })
        expect(left.stdout).toBe('')
      } finally {
        await run('umount', [small], { timeoutMs: COMMAND_MS })
      }
    })

    test('a host whose daemon is missing at the start is down, and comes up by itself', async () => {
      const directory = join(folder, 'late')
      const socket = encodeURIComponent(join(directory, 'run', 'libvirt-sock'))
      const uri = `qemu+unix:///system?socket=${socket}`
      await using early = await driverAt(join(folder, 'early'), harness.images, uri)
      const away = await early.inventory(signal()).catch((error: unknown) => error)
      expect(isFailure(away, 'unavailable')).toBe(true)
      expect(errorChain(away)).toMatch(/not reachable.*ENOENT/)

      const late = await startLibvirtHost({ directory, name: 'late' })

      try {
        await expect
          .poll(() => early.inventory(signal()).catch(() => null))
          .toMatchObject({ hypervisor: { hostname: 'late' } })
      } finally {
        await late.stop()
      }
    })
  },
)
