import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type CellId, type InstanceId, newId } from '#common/ids.ts'
import { EngineImages } from '#drivers/docker/images/engine-images.ts'
import type { Driver, ImageSpec, InstanceSpec, NicSpec } from '#drivers/driver.ts'
import { ImageCache } from '#drivers/image-cache.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { driverDisksContract } from '../contract/driver-disks.contract.ts'
import { driversContract } from '../contract/drivers.contract.ts'
import { type DockerHarness, REFUSED_IMAGES, startDockerHarness } from './docker-harness.ts'
import { savedImage } from './docker-images.ts'
import { whyNoGuests } from './requirements.ts'

const why = whyNoGuests(['dockerd', 'containerd', 'runc', 'iptables', 'unshare'])

describe.skipIf(why !== undefined)(`docker${why === undefined ? '' : ` (skipped: ${why})`}`, () => {
  driversContract('docker', startDockerHarness, REFUSED_IMAGES)
  driverDisksContract('docker', startDockerHarness)

  describe('a docker host', () => {
    let harness: DockerHarness
    let driver: Driver
    const spawned = new Set<InstanceId>()
    const signal = () => AbortSignal.timeout(60_000)
    const spawnNew = async (overrides: Partial<InstanceSpec> = {}) => {
      const spec = instanceSpec(harness.image, overrides)
      spawned.add(spec.id)
      await driver.spawn(spec, signal())
      return spec
    }
    const reportOf = async ({ id }: InstanceSpec) =>
      (await driver.list(signal())).find((report) => report.id === id)
    const logOf = async ({ id }: InstanceSpec) =>
      Buffer.from(await driver.consoleLog!.read(id, 65_536, signal())).toString()
    const inspect = (spec: InstanceSpec) =>
      harness.engine.call<{ readonly HostConfig: Readonly<Record<string, unknown>> }>(
        'GET',
        `/containers/weir-${spec.id}/json`,
        { signal: signal() },
      )
    const fetchFrom = async (address: string) => {
      const args = ['-s', '--max-time', '2', `http://${address}/`]
      const { stdout } = await harness.running.run('curl', args, { timeoutMs: 5_000 })
      return stdout.trim()
    }

    beforeAll(async () => {
      harness = await startDockerHarness()
      driver = await harness.open()
    })
    afterEach(async () => {
      for (const id of spawned) await driver.destroy(id, signal())
      for (const id of spawned) expect(await harness.leftovers(id)).toEqual([])
      spawned.clear()
    })
    afterAll(async () => {
      await driver?.[Symbol.asyncDispose]()
      await harness?.[Symbol.asyncDispose]()
    })

    test('a guest gets its metadata, has its limits, its addresses, and answers on them', async () => {
      const configDrive = {
        'openstack/latest/user_data': Buffer.from('told'),
        'openstack/latest/meta_data.json': Buffer.from('{}'),
      }
      const spec = await spawnNew({ nics: [nicWith('10.90.0.10')], configDrive })

      await expect.poll(() => logOf(spec)).toMatch(/user data: told[^]*READY on guest-1/)
      expect((await inspect(spec)).HostConfig).toMatchObject({
        Memory: 128 * 1024 ** 2,
        NanoCpus: 1e9,
        Dns: ['192.0.2.53'],
      })
      await expect.poll(() => fetchFrom('10.90.0.10').catch(String)).toBe('guest-1')

      await driver.stop(spec.id, 10_000, signal())
      expect(await logOf(spec)).toContain('asked to shut down')
      await driver.start(spec.id, signal())
      await expect.poll(() => fetchFrom('10.90.0.10').catch(String)).toBe('guest-1')
    })

    test('guests on one network reach each other, and the network goes with the last', async () => {
      const nic = nicWith('10.91.0.10')
      const other = { ...nic, portId: newId<NicSpec['portId']>(), macAddress: 'fa:16:3e:00:00:02' }
      const second = [{ ...other, fixedIps: [{ ...nic.fixedIps[0]!, address: '10.91.0.11' }] }]
      const [one] = await Promise.all([spawnNew({ nics: [nic] }), spawnNew({ nics: second })])
      await driver.stop(one!.id, 0, signal())

      await driver.start(one!.id, signal())

      await expect.poll(() => fetchFrom('10.91.0.10').catch(String)).toBe('guest-1')
      await expect.poll(() => fetchFrom('10.91.0.11').catch(String)).toBe('guest-1')
    })

    test('a guest gets another NIC while it runs, keeps it, and loses it', async () => {
      const spec = await spawnNew({ nics: [nicWith('10.92.0.10')] })
      const second = nicWith('10.93.0.10')
      const interfaces = driver.interfaces!

      for (const _ of [1, 2]) await interfaces.attach(spec.id, second, signal())
      await expect.poll(() => fetchFrom('10.93.0.10').catch(String)).toBe('guest-1')
      await driver.reboot(spec.id, 'hard', 0, signal())
      await expect.poll(() => fetchFrom('10.93.0.10').catch(String)).toBe('guest-1')
      const { nics, memory } = await driver.diagnostics!.read(spec.id, signal())
      expect(nics).toHaveLength(2)
      expect(nics[0]!.rxPackets).toBeGreaterThan(0)
      expect(memory.maximumMb).toBe(128)

      for (const _ of [1, 2]) await interfaces.detach(spec.id, second, signal())
      await expect(fetchFrom('10.93.0.10')).rejects.toThrow()
      expect(await fetchFrom('10.92.0.10')).toBe('guest-1')
      await driver.stop(spec.id, 0, signal())
      await expect(driver.diagnostics!.read(spec.id, signal())).rejects.toMatchObject({
        kind: 'conflict',
      })
    })

    test('a guest’s terminal can be typed into, and it has no screen', async () => {
      const { id } = await spawnNew()

      const console = await driver.console!.open(id, 'serial', signal())
      let shown = ''
      console.on('data', (bytes: Buffer) => {
        shown += bytes.toString()
      })
      console.write('is anybody there?\r')

      await expect.poll(() => shown).toContain('is anybody there?')
      console.destroy()
      await expect(driver.console!.open(id, 'vnc', signal())).rejects.toMatchObject({
        kind: 'unsupported',
      })
    })

    test('an image comes under no name but its own', async () => {
      const image = dockerImage(harness, await savedImage('busybox:latest'))

      await spawnNew({ image })

      const images = await harness.engine.call<{ readonly RepoTags: string[] | null }[]>(
        'GET',
        '/images/json',
        { signal: signal() },
      )
      const names = images.flatMap(({ RepoTags }) => RepoTags ?? [])
      expect(names).toContain(`weir-image:${image.sha256}`)
      expect(names.filter((name) => !name.startsWith('weir-image:'))).toEqual([])
    })

    test('images that it loaded are removed when they take too much space: the longest unused first, never one that is used or belongs to another owner', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'weir-dki-'))
      const cache = new ImageCache(folder, harness.images)
      await cache.prepare()
      await using images = new EngineImages(harness.engine, cache, [], 0)
      const newImage = async (name: string) =>
        dockerImage(harness, await savedImage(`${name}:1`, name))
      const [used, first, second, third] = await Promise.all(
        ['used', 'first', 'second', 'third'].map(newImage),
      )
      const nameOf = ({ sha256 }: ImageSpec) => `weir-image:${sha256}`
      const isThere = async (name: string) => {
        const url = `/images/${name}/json`
        return harness.engine.call('GET', url, { signal: signal() }).then(
          () => true,
          () => false,
        )
      }
      const ensured = async (image: ImageSpec) => images.ensure(image, signal())
      await spawnNew({ image: used! })
      await ensured(first!)
      const theirs = { query: { repo: 'theirs', tag: '1' }, signal: signal() }
      await harness.engine.call('POST', `/images/${nameOf(first!)}/tag`, theirs)

      await ensured(second!)
      expect(await isThere(nameOf(first!))).toBe(false)
      expect(await isThere('theirs:1')).toBe(true)
      await ensured(third!)
      expect(await isThere(nameOf(second!))).toBe(false)
      expect(await isThere(nameOf(third!)), 'the one used last stays').toBe(true)
      expect(await isThere(nameOf(used!))).toBe(true)

      await harness.engine.call('DELETE', '/images/theirs:1', { signal: signal() })
      await rm(folder, { recursive: true })
    })

    test('an image that the operator offers is used as the engine has it', async () => {
      await spawnNew()
      const name = `weir-image:${harness.image.sha256}`
      await using offering = await harness.openAs(harness.owner, { localImages: [name] })
      const image = { ...harness.image, sha256: 'b'.repeat(64), properties: { docker_image: name } }
      const spec = instanceSpec(image)
      spawned.add(spec.id)

      await offering.spawn(spec, signal())

      await expect.poll(() => logOf(spec)).toContain('READY')
    })

    test('a guest that goes off by itself is reported, and one whose command is missing is not built', async () => {
      const seen: unknown[] = []
      await using _watching = driver.watch((report) => seen.push(report))
      const properties = { docker_command: '["/bin/true"]' }
      const spec = await spawnNew({ image: { ...harness.image, properties } })

      await expect.poll(() => seen).toContainEqual({ id: spec.id, powerState: 'shutdown' })
      await expect.poll(() => reportOf(spec)).toEqual({ id: spec.id, powerState: 'shutdown' })
      const missing = { docker_command: '["/no/such"]' }
      const broken = spawnNew({ image: { ...harness.image, properties: missing } })
      await expect(broken).rejects.toMatchObject({
        kind: expect.stringMatching(/invalid|internal/),
      })
    })

    test.each(['shutDown', 'kill'] as const)(
      'guests that an engine took with it (%s) are known from those that were off',
      async (end) => {
        const [running, stopped] = [await spawnNew(), await spawnNew()]
        await driver.stop(stopped.id, 0, signal())
        const seen: unknown[] = []

        await harness.running[end]()
        await expect(driver.list(signal())).rejects.toMatchObject({ kind: 'unavailable' })
        await expect(driver.inventory(signal())).rejects.toMatchObject({ kind: 'unavailable' })
        await harness.running.start()

        expect(await reportOf(running)).toMatchObject({ endedWithHost: true })
        expect(await reportOf(stopped)).toMatchObject({ powerState: 'shutdown' })
        await using _watching = driver.watch((report) => seen.push(report))
        await driver.start(running.id, signal())
        expect(await reportOf(running)).toEqual({ id: running.id, powerState: 'running' })
      },
    )

    test('an object of the engine that is in the way is a conflict, and leaves nothing', async () => {
      await spawnNew({ nics: [nicWith('10.96.0.10')] })
      const other = instanceSpec(harness.image, { nics: [nicWith('10.96.0.11')] })

      await expect(driver.spawn(other, signal())).rejects.toMatchObject({
        kind: 'conflict',
        message: expect.stringContaining('that this host uses for another object'),
      })

      // The first one's network is still there.
      const left = await harness.leftovers(other.id)
      expect(left.filter((name) => name.includes(other.id))).toEqual([])
    })

    test('containers of others are neither listed nor touched', async () => {
      const stranger = await harness.openAs({ ...harness.owner, cellId: newId<CellId>() })
      const theirs = instanceSpec(harness.image)
      await stranger.spawn(theirs, signal())

      expect(await driver.list(signal())).toEqual([])
      await driver.destroy(theirs.id, signal())
      const claimed = instanceSpec(harness.image, { id: theirs.id })
      await expect(driver.spawn(claimed, signal())).rejects.toMatchObject({ kind: 'conflict' })

      expect(await stranger.list(signal())).toEqual([{ id: theirs.id, powerState: 'running' }])
      await stranger.destroy(theirs.id, signal())
      await stranger[Symbol.asyncDispose]()
    })
  })
})

function dockerImage(harness: DockerHarness, content: Buffer): ImageSpec {
  return harness.shelve(content, 'docker')
}

function nicWith(address: string): NicSpec {
  const net = address.split('.').slice(0, 3).join('.')
  const gateway = `${net}.1`
  return {
    portId: newId(),
    networkId: newId(),
    macAddress: 'fa:16:3e:00:00:01',
    mtu: 1450,
    fixedIps: [{ address, cidr: `${net}.0/24`, gateway, dhcp: true, dnsServers: ['192.0.2.53'] }],
  }
}
