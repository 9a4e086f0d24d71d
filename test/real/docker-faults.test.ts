import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pack } from 'tar-stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Failure } from '#common/errors.ts'
import { waitFor } from '#common/wait-for.ts'
import { createDockerDriver } from '#drivers/docker/driver.ts'
import type { Driver, ImageSource } from '#drivers/driver.ts'
import { run } from '#drivers/run.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { isFullRun } from '../env/full-run.ts'
import { type Certificates, makeCertificates, type Pair } from './certificates.ts'
import { type DockerHarness, startDockerHarness } from './docker-harness.ts'
import { relayInto } from './relay-into.ts'
import { whyNoGuests } from './requirements.ts'

const why = isFullRun
  ? whyNoGuests(['dockerd', 'containerd', 'runc', 'iptables', 'unshare', 'openssl'])
  : 'only with --all'
const skipped = why === undefined ? '' : ` (skipped: ${why})`
const MIB = 1024 ** 2
const STEP_MS = 30_000
const ENGINE_PORT = 2376
describe.skipIf(why !== undefined)(`a docker host in trouble${skipped}`, () => {
  let folder: string
  let certificates: Certificates
  let harness: DockerHarness
  let driver: Driver
  const signal = () => AbortSignal.timeout(60_000)

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'weir-dkf-'))
    certificates = await makeCertificates(folder)
    const { ca, server } = certificates
    const tls = ['--tlsverify', '--tlscacert', ca, '--tlscert', server.cert, '--tlskey', server.key]
    harness = await startDockerHarness(['--host', `tcp://127.0.0.1:${ENGINE_PORT}`, ...tls])
    driver = await harness.open()
  }, 120_000)
  afterAll(async () => {
    await driver?.[Symbol.asyncDispose]()
    await harness?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  test('an engine that is unreachable at the start is used once it answers', async () => {
    await harness.running.shutDown()
    await using early = await harness.open()

    await expect(early.inventory(signal())).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'The container engine does not answer.',
    })
    const spec = instanceSpec(harness.image)
    await expect(early.spawn(spec, signal())).rejects.toMatchObject({ kind: 'unavailable' })
    await harness.running.start()

    expect((await early.inventory(signal())).vcpus).toBeGreaterThan(0)
    await early.spawn(spec, signal())
    expect(await early.list(signal())).toEqual([{ id: spec.id, powerState: 'running' }])
    await early.destroy(spec.id, signal())
    expect(await harness.leftovers(spec.id)).toEqual([])
  }, 120_000)

  test.each(['shutDown', 'kill'] as const)(
    'an engine that ends (%s) in the midst of a spawn has it asked again, and one guest runs',
    async (end) => {
      const files = await filesOf(Buffer.from(end))
      const spec = instanceSpec(harness.shelve(files, 'docker'))
      await using slow = await driverWith({
        open: async () => {
          await harness.running[end]()
          return Readable.from([files])
        },
      })

      await expect(slow.spawn(spec, signal())).rejects.toMatchObject({ kind: 'unavailable' })
      await harness.running.start()
      await driver.spawn({ ...spec, image: harness.image }, signal())

      expect(await driver.list(signal())).toEqual([{ id: spec.id, powerState: 'running' }])
      await driver.destroy(spec.id, signal())
      expect(await harness.leftovers(spec.id)).toEqual([])
    },
    120_000,
  )

  test('an image that is gone is not-found, and leaves nothing', async () => {
    const images: ImageSource = {
      open: () => Promise.reject(new Failure('not-found', 'There is no such image.')),
    }
    await using without = await driverWith(images)
    const spec = instanceSpec({ ...harness.image, sha256: 'c'.repeat(64) })

    await expect(without.spawn(spec, signal())).rejects.toMatchObject({ kind: 'not-found' })

    expect(await without.list(signal())).toEqual([])
    expect(await harness.leftovers(spec.id)).toEqual([])
  })

  test('a guest that others kill is seen to be off, and one that they remove is gone', async () => {
    const seen: unknown[] = []
    await using _watching = driver.watch((report) => seen.push(report))
    const spec = instanceSpec(harness.image)
    await driver.spawn(spec, signal())
    const { id } = spec
    const path = `/containers/weir-${id}`

    await harness.engine.call('POST', `${path}/kill`, { signal: signal() })
    const isOff = () =>
      JSON.stringify(seen.at(-1)) === JSON.stringify({ id, powerState: 'shutdown' })
    await waitFor('the guest to be seen off', isOff, STEP_MS)
    await driver.start(id, signal())
    await harness.engine.call('DELETE', path, { query: { force: '1' }, signal: signal() })

    expect(await driver.list(signal())).toEqual([])
    await expect(driver.start(id, signal())).rejects.toMatchObject({ kind: 'not-found' })
    await driver.destroy(id, signal())
    expect(await harness.leftovers(id)).toEqual([])
  })

  test('an engine is reached by TLS, by clients with a certificate of its authority', async () => {
    const socket = join(folder, 'relay.sock')
    await using relay = await relayInto(harness.running, ENGINE_PORT, socket)
    const { ca, client, stranger } = certificates
    const at = async (authority: string, { cert, key }: Partial<Pair>) =>
      harness.openAs(harness.owner, {
        endpoint: `tcp://127.0.0.1:${relay.port}`,
        ...{ tlsCa: authority, tlsCert: cert, tlsKey: key },
      })
    await using secure = await at(ca, client)
    const spec = instanceSpec(harness.image)

    await secure.spawn(spec, signal())
    const terminal = await secure.console!.open(spec.id, 'serial', signal())
    const ended = once(terminal.resume(), 'end')
    expect(await secure.list(signal())).toEqual([{ id: spec.id, powerState: 'running' }])
    await secure.destroy(spec.id, signal())
    await ended

    for (const [authority, pair] of [
      [ca, {}],
      [ca, stranger],
      [stranger.cert, client],
    ] as const) {
      await using refused = await at(authority, pair)
      const asking = refused.inventory(signal())
      await expect(asking).rejects.toMatchObject({ kind: 'unavailable' })
    }
  }, 120_000)

  test('an engine without room refuses images and guests, and says so', async () => {
    const small = join(folder, 'small')
    await mkdir(small)
    const size = ['-t', 'tmpfs', '-o', 'size=48m', 'weir-test', small]
    await run('mount', size, { timeoutMs: STEP_MS })
    try {
      await using full = await startDockerHarness(['--data-root', small])
      await using guest = await full.open()
      const large = full.shelve(await filesOf(Buffer.alloc(64 * MIB, 7)), 'docker')
      const spec = instanceSpec(large)

      await expect(guest.spawn(spec, signal())).rejects.toMatchObject({
        kind: 'no-capacity',
        message: 'The container engine has no room left on its disk.',
      })

      expect(await full.leftovers(spec.id)).toEqual([])
      const other = instanceSpec(full.image)
      await guest.spawn(other, signal())
      await guest.destroy(other.id, signal())
    } finally {
      await run('umount', [small], { timeoutMs: STEP_MS })
    }
  }, 120_000)

  test('a host folder that is full or read-only refuses guests, and the engine keeps no part of them', async () => {
    const small = join(folder, 'host')
    await mkdir(small)
    const size = ['-t', 'tmpfs', '-o', 'size=1m', 'weir-test', small]
    await run('mount', size, { timeoutMs: STEP_MS })
    try {
      await using full = await driverWith(harness.images, small)
      const large = harness.shelve(await filesOf(Buffer.alloc(2 * MIB, 3)), 'docker')
      const spec = instanceSpec(large)

      await expect(full.spawn(spec, signal())).rejects.toMatchObject({
        kind: 'no-capacity',
        message: 'The host has no room left on its disk.',
      })
      await run('mount', ['-o', 'remount,ro', small], { timeoutMs: STEP_MS })
      const later = instanceSpec(harness.shelve(await filesOf(Buffer.from('tiny')), 'docker'))
      await expect(full.spawn(later, signal())).rejects.toMatchObject({
        kind: 'internal',
        message: 'The host may not write where it keeps its guests.',
      })

      for (const { id } of [spec, later]) expect(await harness.leftovers(id)).toEqual([])
      const left = await run('find', [small, '-type', 'f'], { timeoutMs: STEP_MS })
      expect(left.stdout).toBe('')
    } finally {
      await run('umount', [small], { timeoutMs: STEP_MS })
    }
  })

  function driverWith(
    images: ImageSource,
    stateDirectory = join(folder, 'without'),
  ): Promise<Driver> {
    const { owner, running } = harness
    const settings = { endpoint: running.endpoint, localImages: [] }
    return createDockerDriver({ owner, stateDirectory, images }, settings)
  }
})

async function filesOf(content: Buffer): Promise<Buffer> {
  const archive = pack()
  archive.entry({ name: 'large' }, content)
  archive.finalize()
  return buffer(archive as unknown as Readable)
}
