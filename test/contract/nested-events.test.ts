import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type CellId, type HostId, type ImageId, newId } from '#common/ids.ts'
import type { Driver, InstanceReport } from '#drivers/driver.ts'
import { createNestedDriver } from '#drivers/nested/driver.ts'
import { nestedSettings } from '#drivers/nested/settings.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { TestImages } from '#drivers/testing/test-images.ts'
import { StubCloud } from '../env/stub-cloud.ts'

/** The image that ours is there. */
const BELOW = newId<ImageId>()

const LIST = /^GET \/compute\/servers\/detail$/
const SHOW = /^GET \/compute\/servers\/[^/]+$/
const EVENTS = /^GET \/federation\/v1\/events$/
/** So long an interval that a change which is seen was not seen by a list. */
const NEVER = '600000'
const POLL = { interval: 10 }

describe('a Weir below', () => {
  let cloud: StubCloud
  let stateDirectory: string
  let driver: Driver
  let watching: AsyncDisposable
  const image = new TestImages().add(Buffer.from('x'))
  const reported: InstanceReport[] = []
  const signal = () => AbortSignal.timeout(20_000)
  const spawn = async () => {
    const spec = instanceSpec(image, { displayName: 'web', hostname: 'web' })
    await driver.spawn(spec, signal())
    const below = [...cloud.servers.values()].at(-1)!
    return { id: spec.id, below }
  }
  const listens = (times: number) => expect.poll(() => cloud.listened.length, POLL).toBe(times)

  beforeEach(async () => {
    cloud = await StubCloud.start()
    cloud.isWeir = true
    stateDirectory = await mkdtemp(join(tmpdir(), 'weir-nested-'))
    reported.length = 0
    const settings = nestedSettings({
      auth_url: cloud.url,
      application_credential_id: 'id',
      application_credential_secret: 'secret',
      projects: 'any',
      networks: '127.0.0.0/8',
      allow_http: 'true',
      images: `${image.id}=${BELOW}`,
      poll_ms: '20',
      idle_poll_ms: NEVER,
      requests_per_second: '1000',
    })
    const owner = { cellId: newId<CellId>(), hostId: newId<HostId>() }
    driver = await createNestedDriver({ owner, stateDirectory, images: new TestImages() }, settings)
    watching = driver.watch((report) => reported.push(report))
    await listens(1)
  })
  afterEach(async () => {
    await watching?.[Symbol.asyncDispose]()
    await driver?.[Symbol.asyncDispose]()
    await cloud?.[Symbol.asyncDispose]()
    await rm(stateDirectory, { recursive: true, force: true })
  })

  test('reports a server that has changed or gone, without a list', async () => {
    const [one, other] = [await spawn(), await spawn()]
    await driver.list(signal())
    const lists = cloud.count(LIST)

    one.below.status = 'SHUTOFF'
    cloud.notify(one.below.id)
    await expect.poll(() => reported, POLL).toContainEqual({ id: one.id, powerState: 'shutdown' })
    other.below.status = 'DELETED'
    cloud.notify(other.below.id)
    await expect
      .poll(() => reported, POLL)
      .toContainEqual({
        ...{ id: other.id, powerState: 'nostate' },
        fault: expect.any(String),
      })

    const listed = await driver.list(signal())
    expect(listed.filter(({ fault }) => fault === undefined)).toEqual([
      { id: one.id, powerState: 'shutdown' },
    ])
    expect(cloud.count(LIST)).toBe(lists)
  })

  test('is asked for one list when much has changed, and for nothing about servers of others', async () => {
    const spawned = await Promise.all(Array.from({ length: 40 }, spawn))
    await driver.list(signal())
    const [lists, shows] = [cloud.count(LIST), cloud.count(SHOW)]

    for (const server of cloud.servers.values()) {
      Object.assign(server, { status: 'SHUTOFF', updated: Date.now() })
      for (const _ of [1, 2, 3]) cloud.notify(server.id)
      cloud.notify(newId())
    }
    await expect
      .poll(() => reported.filter(({ powerState }) => powerState === 'shutdown'), POLL)
      .toHaveLength(spawned.length)

    expect(cloud.count(SHOW) - shows).toBeLessThan(spawned.length)
    expect(cloud.count(LIST) - lists).toBeLessThanOrEqual(3)
  })

  test('is listened to after the last whole event when its stream breaks in the middle of one', async () => {
    const { below } = await spawn()
    const shows = cloud.count(SHOW)
    cloud.notify(below.id)
    await expect.poll(() => cloud.count(SHOW), POLL).toBeGreaterThan(shows)

    cloud.breakNotifications()
    await listens(2)

    expect(cloud.listened).toEqual([undefined, '1'])
  })

  test('is followed after the last event when its stream breaks, and from the start when that event is gone', async () => {
    const { id, below } = await spawn()
    const shows = cloud.count(SHOW)
    cloud.notify(below.id)
    await expect.poll(() => cloud.count(SHOW), POLL).toBeGreaterThan(shows)

    cloud.hangUp()
    await listens(2)
    expect(cloud.listened).toEqual([undefined, '1'])

    const problem = { type: 'about:blank', title: 'Gone', status: 410 }
    cloud.disturb(EVENTS, { answer: 410, body: JSON.stringify(problem) })
    below.status = 'SHUTOFF'
    below.updated = Date.now()
    cloud.hangUp()
    await listens(3)
    expect(cloud.listened[2]).toBeUndefined()
    await expect.poll(() => reported, POLL).toContainEqual({ id, powerState: 'shutdown' })
  })
})
