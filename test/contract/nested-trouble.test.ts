import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type CellId, type HostId, type ImageId, newId } from '#common/ids.ts'
import type { Driver } from '#drivers/driver.ts'
import { createNestedDriver } from '#drivers/nested/driver.ts'
import { nestedSettings } from '#drivers/nested/settings.ts'
import { verifyCloud } from '#drivers/nested/verify/verify-cloud.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { TestImages } from '#drivers/testing/test-images.ts'
import { type Disturbance, StubCloud } from '../env/stub-cloud.ts'

const BELOW = newId<ImageId>()
const CREATE = /^POST \/compute\/servers$/
const LIST = /^GET \/compute\/servers\/detail$/
const SHOW = /^GET \/compute\/servers\/[0-9a-f-]{36}$/
const LOGIN = /^POST \/v3\/auth\/tokens$/
const SETTLES_MS = 400
const { flavor: FLAVOR } = instanceSpec(new TestImages().add(Buffer.from('x')))
const HTML = { body: '<html><title>Oops</title></html>' }
/** What a cloud may do to any request, twice in a row. */
const TROUBLES: readonly (readonly [what: string, does: Disturbance])[] = [
  ['401', { answer: 401 }],
  ['403', { answer: 403 }],
  ['404', { answer: 404 }],
  ['404 in HTML', { answer: 404, ...HTML }],
  ['409', { answer: 409 }],
  ['413', { answer: 413 }],
  ['413 and a time', { answer: 413, headers: { 'retry-after': '0' } }],
  ['429', { answer: 429, headers: { 'retry-after': '0' } }],
  ['500', { answer: 500 }],
  ['502 in HTML', { answer: 502, ...HTML }],
  ['503', { answer: 503 }],
  ['200 in HTML', { answer: 200, ...HTML }],
  ['200 and nothing', { answer: 200, body: '{}' }],
  ['silence', { slow: 1_500 }],
  ['no answer', { lose: 'answer' }],
  ['no connection', { lose: 'request' }],
]

describe('a nested cloud that', () => {
  let cloud: StubCloud
  let stateDirectory: string
  let driver: Driver
  const image = new TestImages().add(Buffer.from('x'))
  const owner = { cellId: newId<CellId>(), hostId: newId<HostId>() }
  const signal = () => AbortSignal.timeout(20_000)
  const newSpec = () => instanceSpec(image, { displayName: 'web', hostname: 'web' })
  const settings = (more: Readonly<Record<string, string>> = {}) =>
    nestedSettings({
      auth_url: cloud.url,
      application_credential_id: 'id',
      application_credential_secret: 'secret',
      projects: 'any',
      networks: '127.0.0.0/8',
      allow_http: 'true',
      images: `${image.id}=${BELOW}`,
      poll_ms: '20',
      create_settles_ms: String(SETTLES_MS),
      request_timeout_ms: '1000',
      requests_per_second: '1000',
      ...more,
    })
  const open = (more: Readonly<Record<string, string>> = {}) =>
    createNestedDriver({ owner, stateDirectory, images: new TestImages() }, settings(more))
  const there = () => [...cloud.servers.values()].filter(({ status }) => status !== 'DELETED')
  /** As a cell does: asks again while the outcome is not known. */
  const spawnAtLast = async (spec: ReturnType<typeof newSpec>) => {
    const tryAgain = () => driver.spawn(spec, signal())
    await expect.poll(async () => tryAgain().then(() => 'up', kindOf)).toBe('up')
  }

  beforeEach(async () => {
    cloud = await StubCloud.start()
    stateDirectory = await mkdtemp(join(tmpdir(), 'weir-nested-'))
    driver = await open()
  })
  afterEach(async () => {
    await driver?.[Symbol.asyncDispose]()
    await cloud?.[Symbol.asyncDispose]()
    await rm(stateDirectory, { recursive: true, force: true })
  })

  test('without images reports this in its check, as does an endpoint that is not a cloud', async () => {
    const verify = (more: Readonly<Record<string, string>> = {}) =>
      verifyCloud(settings(more), {
        ...{ cells: [owner.cellId], flavors: [FLAVOR], networks: [] },
        outside: { networks: [], clouds: [] },
      })
    const results = Object.fromEntries((await verify()).map(({ check, result }) => [check, result]))
    expect(results).toMatchObject({ credential: 'ok', compute: 'ok', flavors: 'ok' })
    expect(results).toMatchObject({ clock: 'ok', limits: 'ok', images: 'failed' })

    const hopeless = [{ check: 'credential', result: 'failed' }]
    expect(await verify({ networks: '10.0.0.0/8' })).toMatchObject(hopeless)
    cloud.disturb(LOGIN, { answer: 200, ...HTML })
    expect(await verify()).toMatchObject(hopeless)
    cloud.computeUrl = 'http://169.254.169.254/'
    expect(await verify()).toMatchObject(hopeless)
  })

  test('loses its answer to a create has made one server, which is taken', async () => {
    const spec = newSpec()
    cloud.disturb(CREATE, { lose: 'answer' })

    await expect(driver.spawn(spec, signal())).rejects.toMatchObject({ kind: 'unavailable' })
    await driver.spawn(spec, signal())

    expect(cloud.count(CREATE)).toBe(1)
    expect(await driver.list(signal())).toEqual([{ id: spec.id, powerState: 'running' }])
  })

  test('loses its answer just before this process ends has its server taken by the next', async () => {
    const spec = newSpec()
    cloud.disturb(CREATE, { lose: 'answer' })
    await driver.spawn(spec, signal()).catch(() => undefined)

    await driver[Symbol.asyncDispose]()
    driver = await open()
    await driver.spawn(spec, signal())

    expect(there()).toHaveLength(1)
    expect(cloud.count(CREATE)).toBe(1)
  })

  test('a create that never arrived is sent again, but not before that is certain', async () => {
    const spec = newSpec()
    cloud.disturb(CREATE, { lose: 'request' })
    const begun = performance.now()
    await driver.spawn(spec, signal()).catch(() => undefined)

    const destroying = driver.destroy(spec.id, signal())
    await expect(destroying).rejects.toMatchObject({ kind: 'unavailable' })
    await expect(driver.spawn(spec, signal())).rejects.toMatchObject({ kind: 'unavailable' })
    expect(cloud.count(CREATE)).toBe(1)
    await spawnAtLast(spec)

    expect(performance.now() - begun).toBeGreaterThan(SETTLES_MS - 50)
    expect(there()).toHaveLength(1)
    expect(cloud.count(CREATE)).toBe(2)
  })

  test('makes a server later than anything should take loses the second', async () => {
    const spec = newSpec()
    cloud.disturb(CREATE, { late: 2 * SETTLES_MS })

    await spawnAtLast(spec)
    await expect.poll(() => cloud.servers.size).toBe(2)
    await expect
      .poll(async () => [(await driver.list(signal())).length, there().length])
      .toEqual([1, 1])

    await driver.destroy(spec.id, signal())
    expect(there()).toEqual([])
  })

  test.each([
    ['400', { answer: 400 }, 'invalid'],
    [
      '403 for its quota',
      { answer: 403, body: '{"forbidden":{"message":"Quota exceeded for cores"}}' },
      'no-capacity',
    ],
    ['403 for its rules', { answer: 403 }, 'forbidden'],
    ['404', { answer: 404 }, 'internal'],
    ['409', { answer: 409 }, 'internal'],
    ['413', { answer: 413 }, 'too-large'],
  ] as const)(
    'answers a create with %s is believed, and nothing is left',
    async (_what, does, kind) => {
      const spec = newSpec()
      cloud.disturb(CREATE, does)

      await expect(driver.spawn(spec, signal())).rejects.toMatchObject({ kind })
      await driver.destroy(spec.id, signal())

      expect(there()).toEqual([])
      expect(cloud.count(CREATE)).toBe(1)
    },
  )

  test.each([
    ['500', { answer: 500 }],
    ['503', { answer: 503 }],
    ['a page of its proxy', { answer: 502, ...HTML }],
    ['a page that says 404', { answer: 404, ...HTML }],
    ['a redirect', { answer: 302, headers: { location: 'http://169.254.169.254/' } }],
    ['a page instead of a server', { answer: 202, ...HTML }],
    ['silence', { slow: 3_000 }],
  ] as const)('answers a create with %s has one server in the end', async (_what, does) => {
    const spec = newSpec()
    cloud.disturb(CREATE, does)

    await expect(driver.spawn(spec, signal())).rejects.toMatchObject({ kind: 'unavailable' })
    await spawnAtLast(spec)

    expect(there()).toHaveLength(1)
  })

  test.each([429, 413])(
    'has had enough (%s) is left alone for as long as it says',
    async (answer) => {
      const spec = newSpec()
      cloud.disturb(CREATE, { answer, headers: { 'retry-after': '1' } })
      const begun = performance.now()

      await driver.spawn(spec, signal())

      expect(performance.now() - begun).toBeGreaterThan(950)
      expect(there()).toHaveLength(1)
    },
  )

  test('does not take a token any more is logged in to once', async () => {
    const spec = newSpec()
    await driver.list(signal())
    cloud.disturb(CREATE, { answer: 401 })

    await driver.spawn(spec, signal())

    expect(cloud.count(LOGIN)).toBe(2)
    expect(there()).toHaveLength(1)
  })

  test('does not let us in, or breaks, has lost no server', async () => {
    const spec = newSpec()
    await driver.spawn(spec, signal())
    for (const does of [{ answer: 401 }, { answer: 404, ...HTML }, { lose: 'answer' }] as const) {
      cloud.disturb(LIST, does, 9)
      for (const _ of [1, 2, 3])
        await expect(driver.list(signal())).rejects.toMatchObject({ kind: 'unavailable' })
      cloud.calm()

      expect(await driver.list(signal())).toHaveLength(1)
    }
  })

  test('leaves a server out of one list has not lost it; out of two it has', async () => {
    const spec = newSpec()
    cloud.tellsTime = false
    await driver.spawn(spec, signal())
    const [server] = there()
    const hide = async (lists: number) => {
      cloud.servers.delete(server!.id)
      for (let nth = 0; nth < lists; nth += 1) await driver.list(signal())
      cloud.servers.set(server!.id, server!)
    }

    await hide(1)
    expect(await driver.list(signal())).toHaveLength(1)
    await hide(2)
    cloud.servers.delete(server!.id)
    expect(await driver.list(signal())).toMatchObject([{ id: spec.id, powerState: 'nostate' }])
  })

  test('does not list a server of a part that is away, and cannot show it, has not lost it', async () => {
    const spec = newSpec()
    cloud.tellsTime = false
    await driver.spawn(spec, signal())
    cloud.disturb(LIST, { answer: 200, body: '{"servers":[]}' }, 4)
    cloud.disturb(SHOW, { answer: 500 }, 9)

    for (const _ of [1, 2, 3, 4]) expect(await driver.list(signal())).toHaveLength(1)

    expect(cloud.count(SHOW)).toBeGreaterThan(0)
  })

  test('does not know yet everywhere that it has made a server is not asked for another', async () => {
    const spec = newSpec()
    cloud.compute.blindMs = SETTLES_MS / 2

    await expect(driver.spawn(spec, signal())).rejects.toMatchObject({ kind: 'unavailable' })
    const destroying = driver.destroy(spec.id, signal())
    await expect(destroying).rejects.toMatchObject({ kind: 'unavailable' })
    await spawnAtLast(spec)

    expect(cloud.count(CREATE)).toBe(1)
    await driver.destroy(spec.id, signal())
    expect(there()).toEqual([])
  })

  test('names another server than it has made does not lose that one', async () => {
    const [theirs, spec] = [newSpec(), newSpec()]
    await driver.spawn(theirs, signal())
    cloud.disturb(CREATE, { answer: 202, body: JSON.stringify({ server: { id: there()[0]!.id } }) })

    await spawnAtLast(spec)
    await driver.destroy(spec.id, signal())

    expect(await driver.list(signal())).toEqual([{ id: theirs.id, powerState: 'running' }])
  })

  test('is asked for one list at a time, and for changes only, by whichever caller', async () => {
    const specs = Array.from({ length: 10 }, newSpec)
    await Promise.all(specs.map((spec) => driver.spawn(spec, signal())))
    const before = cloud.count(LIST)

    await Promise.all(Array.from({ length: 50 }, () => driver.list(signal())))

    expect(cloud.count(LIST) - before).toBeLessThanOrEqual(2)
    expect(there()).toHaveLength(10)
  })

  test('has removed a server by itself has it gone here, too', async () => {
    const spec = newSpec()
    await driver.spawn(spec, signal())
    there()[0]!.updated = Date.now()
    there()[0]!.status = 'DELETED'

    expect(await driver.list(signal())).toMatchObject([{ powerState: 'nostate' }])
    await driver.spawn(spec, signal())
    expect(there()).toHaveLength(1)
    expect(await driver.list(signal())).toEqual([{ id: spec.id, powerState: 'running' }])
  })

  test('ends a snapshot without a byte has its image taken away, and is not waited for', async () => {
    const spec = newSpec()
    await driver.spawn(spec, signal())
    cloud.disturb(/^POST .*\/action$/, { answer: 202, body: '{"image_id":"empty"}' })
    cloud.disturb(/^GET \/image\/.*images$/, { answer: 200, body: '{"images":[]}' })
    cloud.disturb(/^GET .*\/empty$/, { answer: 200, body: '{"id":"empty","status":"queued"}' })

    await expect(driver.snapshot!.take(spec.id, signal())).rejects.toMatchObject({
      kind: 'internal',
      detail: 'it is queued',
    })
    expect(cloud.count(/^DELETE \/image\/.*\/empty$/)).toBe(1)
  })

  test('is away when a server is to go keeps it until it is back', async () => {
    const spec = newSpec()
    await driver.spawn(spec, signal())
    cloud.disturb(/compute/, { answer: 503 }, 99)

    const destroying = driver.destroy(spec.id, signal())
    await expect(destroying).rejects.toMatchObject({ kind: 'unavailable' })
    cloud.calm()
    await driver.destroy(spec.id, signal())

    expect(there()).toEqual([])
  })

  test.each(TROUBLES)(
    'answers lists, actions and deletes with %s has one server until it gets its delete',
    async (_what, does) => {
      const spec = newSpec()
      await driver.spawn(spec, signal())
      const inTrouble = async (what: RegExp, work: () => Promise<unknown>) => {
        cloud.disturb(what, does, 2)
        await expect.poll(async () => work().then(() => 'done', kindOf)).toBe('done')
        expect(cloud.count(CREATE)).toBe(1)
        cloud.calm()
      }

      await inTrouble(LIST, () => driver.list(signal()))
      expect(await driver.list(signal())).toEqual([{ id: spec.id, powerState: 'running' }])
      await inTrouble(/^POST .*action$/, () => driver.stop(spec.id, 0, signal()))
      expect(await driver.list(signal())).toEqual([{ id: spec.id, powerState: 'shutdown' }])
      await inTrouble(LOGIN, () => driver.spawn(spec, signal()))
      expect(there()).toHaveLength(1)
      await inTrouble(/^DELETE /, () => driver.destroy(spec.id, signal()))
      expect(there()).toEqual([])
      expect(await driver.list(signal())).toEqual([])
    },
  )

  test.each(['http://169.254.169.254/compute', 'http://10.0.0.1:8774', 'file:///etc/passwd'])(
    'says that it is at %s is not asked there',
    async (computeUrl) => {
      cloud.computeUrl = computeUrl

      await expect(driver.inventory(signal())).rejects.toMatchObject({ kind: 'invalid' })
    },
  )

  test('has sent a server up to us is not sent it again, nor is one too deep', async () => {
    const hop = (n: number) => [`weir:${newId()}`, `${newId()} ${newId()} ${n}`] as const
    const round = { [`weir:${owner.hostId}`]: `${newId()} ${owner.cellId}` }
    const deep = Object.fromEntries([1, 2, 3, 4].map(hop))
    const asked = { keypair: null, userData: null, adminPassword: null }
    const spawnWith = (metadata: Record<string, string>) =>
      driver.spawn(instanceSpec(image, { asked: { ...asked, metadata } }), signal())

    await expect(spawnWith(round)).rejects.toThrow(/form a ring/)
    await expect(spawnWith(deep)).rejects.toThrow(/at most 4 clouds/)
    expect(cloud.count(CREATE)).toBe(0)
  })

  test('is for other projects takes no server of this one', async () => {
    await using picky = await open({ projects: newId() })

    await expect(picky.spawn(newSpec(), signal())).rejects.toMatchObject({ kind: 'forbidden' })
  })
})

function kindOf(error: unknown): string {
  return error instanceof Error && 'kind' in error ? String(error.kind) : String(error)
}
