import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import {
  act,
  activeServer,
  deleteServer,
  SERVERS,
  type Server,
  showServer,
  untilSettled,
  untilStatus,
} from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient
let larger: string

interface Image {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly [field: string]: unknown
}

beforeAll(async () => {
  cloud = await startCloud({ gateways: 1, processesPerCell: 1 })
  demo = cloud.as('demo')
  admin = cloud.as('admin')
  const flavor = { name: 'larger', vcpus: 2, ram: 256, disk: 2, id: 'larger' }
  const { body } = await admin.post<{ flavor: { id: string } }>('/compute/v2.1/flavors', { flavor })
  larger = body.flavor.id
})
afterAll(() => cloud?.[Symbol.asyncDispose]())

const WAIT_MS = 30_000
const IMAGES = '/image/v2/images'
const images = async (name: string) =>
  (await demo.get<{ images: readonly Image[] }>(`${IMAGES}?name=${name}&sort=created_at:asc`)).body
    .images
const untilImage = (id: string, status: string) =>
  waitFor(
    `image ${id} to be ${status}`,
    async () => {
      const { body } = await demo.get<Image>(`${IMAGES}/${id}`)
      return body.status === status ? body : undefined
    },
    WAIT_MS,
  )
const untilNoImage = (name: string) =>
  waitFor(`no image ${name}`, async () => (await images(name)).length === 0, WAIT_MS)
const imageOf = (answer: { readonly headers: Readonly<Record<string, string>> }) =>
  answer.headers['location']!.split('/').at(-1)!
const usage = async () => {
  const { body } = await demo.get<{ limits: { absolute: Readonly<Record<string, number>> } }>(
    '/compute/v2.1/limits',
  )
  const { totalCoresUsed, totalRAMUsed } = body.limits.absolute
  return [totalCoresUsed, totalRAMUsed]
}
const fault = (method: 'snapshot' | 'rebuild' | 'resize' | 'spawn') => {
  for (const host of cloud.hosts)
    host.fail({ method, effect: { do: 'fail', kind: 'unsupported', message: 'cannot' } })
}
const noFaults = () => {
  for (const host of cloud.hosts) host.fail()
}
interface Actions {
  readonly instanceActions: readonly { readonly action: string }[]
}
const actionsOf = async (id: string) =>
  (await demo.get<Actions>(`${SERVERS}/${id}/os-instance-actions`)).body.instanceActions.map(
    ({ action }) => action,
  )

describe('images of servers', () => {
  test('createImage answers with a location, and from 2.45 on with the id; the image boots', async () => {
    const { id } = await activeServer(cloud, demo, { name: 'model' })

    const old = await act(demo, id, { createImage: { name: 'saved', metadata: { kind: 'test' } } })
    expect(old.status).toBe(202)
    const image = await untilImage(imageOf(old), 'active')
    await untilSettled(cloud, id)
    const asked = { createImage: { name: 'later' } }
    const later = await act(demo, id, asked, { version: '2.45' })

    expect(image).toMatchObject({
      name: 'saved',
      visibility: 'private',
      disk_format: 'raw',
      container_format: 'bare',
      size: 512,
      kind: 'test',
      image_type: 'snapshot',
      instance_uuid: id,
      base_image_ref: cloud.catalog.image,
      min_disk: 1,
    })
    expect(later.headers['location']).toBeUndefined()
    await untilImage(String(later.body['image_id']), 'active')
    const copy = await activeServer(cloud, demo, { name: 'copy', imageRef: image.id })
    expect(copy['image']).toMatchObject({ id: image.id })
    for (const each of [id, copy.id]) await deleteServer(demo, each)
    await expectInvariants(cloud)
  })

  test('a disk that cannot be saved leaves the server ACTIVE and no image', async () => {
    const { id } = await activeServer(cloud, demo)
    fault('snapshot')

    const { status } = await act(demo, id, { createImage: { name: 'never' } })

    expect(status).toBe(202)
    await untilNoImage('never')
    noFaults()
    expect((await untilSettled(cloud, id)).status).toBe('ACTIVE')
    await deleteServer(demo, id)
  })

  test('a server deleted while it is saved leaves no image', async () => {
    const { id } = await activeServer(cloud, demo)
    for (const host of cloud.hosts) host.fail({ method: 'snapshot', effect: { do: 'hang' } })

    await act(demo, id, { createImage: { name: 'cut' } })
    expect(await images('cut')).toMatchObject([{ status: 'queued', disk_format: null }])
    await deleteServer(demo, id)
    noFaults()

    await untilNoImage('cut')
    await expectInvariants(cloud)
  })

  test('backups of one type are kept as far as their rotation says', async () => {
    const { id } = await activeServer(cloud, demo)
    const backup = async (name: string, type: string, rotation: number) => {
      const createBackup = { name, backup_type: type, rotation }
      const answer = await act(demo, id, { createBackup })
      expect(answer.status).toBe(202)
      await untilSettled(cloud, id)
      return answer
    }

    for (const nth of [1, 2, 3]) await backup(`daily-${nth}`, 'daily', 2)
    await backup('weekly-1', 'weekly', 1)
    await untilNoImage('daily-1')
    const none = await backup('daily-0', 'daily', 0)

    expect(none.headers['location']).toBeUndefined()
    for (const nth of [0, 2, 3]) await untilNoImage(`daily-${nth}`)
    expect(await images('weekly-1')).toMatchObject([{ status: 'active', image_type: 'backup' }])
    await deleteServer(demo, id)
  })

  test.each([
    [{ createImage: {} }, 400],
    [{ createImage: { name: '' } }, 400],
    [{ createBackup: { name: 'x', backup_type: 'daily', rotation: -1 } }, 400],
    [{ createBackup: { name: 'x', backup_type: 'daily' } }, 400],
  ])('%j is answered %i', async (body, status) => {
    const { id } = await activeServer(cloud, demo)
    expect((await act(demo, id, body)).status).toBe(status)
    await deleteServer(demo, id)
  })
})

describe('rebuilding', () => {
  test('a server is rebuilt with the properties of its microversion, which are shown at once', async () => {
    const { id, addresses } = await activeServer(cloud, demo, { name: 'before' })
    const rebuild = {
      imageRef: cloud.catalog.image,
      name: 'after',
      adminPass: 'secret word',
      metadata: { a: 'b' },
      description: 'new',
      user_data: 'aGVsbG8=',
      key_name: null,
      hostname: 'inside',
      'OS-DCF:diskConfig': 'MANUAL',
    }

    for (const host of cloud.hosts) host.fail({ method: 'rebuild', effect: { do: 'hang' } })
    const answer = await act(demo, id, { rebuild }, { version: '2.93' })

    expect(answer.status).toBe(202)
    expect(answer.headers['location']).toMatch(new RegExp(`/servers/${id}$`))
    const { imageRef: _image, hostname, ...shown } = rebuild
    expect(answer.body['server']).toMatchObject({
      ...shown,
      id,
      status: 'REBUILD',
      'OS-EXT-SRV-ATTR:hostname': hostname,
      'OS-EXT-STS:task_state': 'rebuilding',
    })
    noFaults()
    const server = await untilStatus(demo, id, 'ACTIVE')
    expect(server).toMatchObject({ name: 'after', addresses, metadata: { a: 'b' } })
    const log = await act(demo, id, { 'os-getConsoleOutput': {} })
    expect(log.body['output']).toContain('rebuilt after (inside)')

    await act(demo, id, { 'os-stop': null })
    await untilStatus(demo, id, 'SHUTOFF')
    const plain = await act(demo, id, { rebuild: { imageRef: cloud.catalog.image } })
    expect(plain.body['server']).toHaveProperty(['OS-DCF:diskConfig'], 'MANUAL')
    expect(Object.keys(plain.body['server'] as Server)).not.toContain('description')
    expect((await untilSettled(cloud, id)).status).toBe('SHUTOFF')
    expect(await actionsOf(id)).toEqual(['rebuild', 'stop', 'rebuild', 'create'])
    await deleteServer(demo, id)
  })

  test('a rebuild that fails leaves an ERROR that can be rebuilt', async () => {
    const { id } = await activeServer(cloud, demo)
    const rebuild = { imageRef: cloud.catalog.image }
    fault('rebuild')

    await act(demo, id, { rebuild })

    await expect(untilStatus(demo, id, 'ACTIVE')).rejects.toThrow('ERROR')
    noFaults()
    await act(demo, id, { rebuild })
    await untilSettled(cloud, id)
    expect((await showServer(demo, id)).status).toBe('ACTIVE')
    await deleteServer(demo, id)
  })

  test.each([
    ['2.1', { description: 'x' }],
    ['2.53', { key_name: 'x' }],
    ['2.56', { user_data: 'aGVsbG8=' }],
    ['2.62', { trusted_image_certificates: ['x'] }],
    ['2.89', { hostname: 'x1' }],
    ['2.93', { imageRef: '5a3e0b7e-1111-4222-8333-444455556666' }],
    ['2.93', { key_name: 'nobody' }],
  ] as const)('at %s %j is refused', async (version, change) => {
    const { id } = await activeServer(cloud, demo)
    const rebuild = { imageRef: cloud.catalog.image, ...change }

    const { status } = await act(demo, id, { rebuild }, { version })

    expect([status, (await showServer(demo, id)).status]).toEqual([400, 'ACTIVE'])
    await deleteServer(demo, id)
  })
})

describe('resizing', () => {
  test('it is confirmed, and the quota is that of the larger size until then', async () => {
    const before = await usage()
    const { id } = await activeServer(cloud, demo)
    const [cores, ram] = await usage()

    const resize = { flavorRef: larger, 'OS-DCF:diskConfig': 'AUTO' }
    const { status } = await act(demo, id, { resize })
    expect(status).toBe(202)
    expect(['RESIZE', 'VERIFY_RESIZE']).toContain((await showServer(demo, id)).status)
    const resized = await untilStatus(demo, id, 'VERIFY_RESIZE')

    expect(resized).toMatchObject({ flavor: { id: larger }, 'OS-DCF:diskConfig': 'AUTO' })
    expect(await usage()).toEqual([before[0]! + 2, before[1]! + 256])
    const confirmed = await act(demo, id, { confirmResize: null })
    expect(confirmed.status).toBe(204)
    expect((await untilStatus(demo, id, 'ACTIVE'))['flavor']).toMatchObject({ id: larger })
    const again = await act(demo, id, { confirmResize: null })
    expect([again.status, again.body]).toMatchObject([409, { conflictingRequest: {} }])
    expect([cores, ram]).not.toEqual(await usage())
    await deleteServer(demo, id)
    await waitFor(
      'the quota to be given back',
      async () => {
        return String(await usage()) === String(before)
      },
      WAIT_MS,
    )
    await expectInvariants(cloud)
  })

  test('it is reverted, or fails, and leaves nothing behind', async () => {
    const { id, flavor } = await activeServer(cloud, demo)
    const before = await usage()
    await act(demo, id, { 'os-stop': null })
    await untilStatus(demo, id, 'SHUTOFF')

    await act(demo, id, { resize: { flavorRef: larger } })
    await untilStatus(demo, id, 'VERIFY_RESIZE')
    expect((await act(demo, id, { revertResize: null })).status).toBe(202)
    const reverted = await untilStatus(demo, id, 'SHUTOFF')
    await waitFor(
      'less to be charged',
      async () => String(await usage()) === String(before),
      WAIT_MS,
    )
    fault('resize')
    await act(demo, id, { resize: { flavorRef: larger } })
    await untilSettled(cloud, id)
    noFaults()

    expect(reverted['flavor']).toMatchObject(flavor as object)
    expect(await showServer(demo, id)).toMatchObject({ status: 'SHUTOFF', flavor })
    await waitFor(
      'nothing to be charged',
      async () => String(await usage()) === String(before),
      WAIT_MS,
    )
    await deleteServer(demo, id)
    await expectInvariants(cloud)
  })

  test('a flavor that cannot be had is refused, and the quota is as it was', async () => {
    const { id } = await activeServer(cloud, demo)
    const before = await usage()
    const huge = { name: 'huge', vcpus: 10_000, ram: 1, disk: 1, id: 'huge' }
    await admin.post('/compute/v2.1/flavors', { flavor: huge })
    const resize = async (flavorRef: string) => {
      const answer = await act(demo, id, { resize: { flavorRef } })
      return [answer.status, Object.values(answer.body)[0]]
    }

    expect(await resize('none')).toMatchObject([
      400,
      { message: 'Flavor none could not be found.' },
    ])
    expect(await resize(cloud.catalog.tiny)).toMatchObject([
      400,
      { message: 'When resizing, instances must change flavor!' },
    ])
    expect(await resize('huge')).toMatchObject([403, { message: /Quota exceeded for cores/ }])

    const vast = { name: 'vast', vcpus: 2, ram: 256, disk: 1_000_000, id: 'vast' }
    await admin.post('/compute/v2.1/flavors', { flavor: vast })
    expect((await act(demo, id, { resize: { flavorRef: 'vast' } })).status).toBe(202)

    expect((await showServer(demo, id)).status).toBe('ACTIVE')
    expect(await usage()).toEqual(before)
    expect((await act(demo, id, { confirmResize: null })).status).toBe(409)
    await deleteServer(demo, id)
  })

  test('a resized server that is deleted leaves nothing', async () => {
    const { id } = await activeServer(cloud, demo)
    await act(demo, id, { resize: { flavorRef: larger } })
    await untilStatus(demo, id, 'VERIFY_RESIZE')

    await deleteServer(demo, id)

    await expectInvariants(cloud)
  })
})

describe('shelving', () => {
  test('a server leaves its host for an image, and comes back from it', async () => {
    const { id, name } = await activeServer(cloud, demo, { name: 'asleep' })

    expect((await act(demo, id, { shelve: null })).status).toBe(202)
    const away = await untilStatus(demo, id, 'SHELVED_OFFLOADED')
    expect(await images(`${name}-shelved`)).toMatchObject([{ status: 'active' }])
    expect((await showServer(admin, id))['OS-EXT-SRV-ATTR:host']).toBeNull()
    expect((await act(demo, id, { 'os-start': null })).status).toBe(409)
    const toNoHost = { unshelve: { host: 'x' } }
    expect((await act(demo, id, toNoHost, { version: '2.91' })).status).toBe(403)
    expect((await act(admin, id, toNoHost, { version: '2.91' })).status).toBe(400)
    const nowhere = { unshelve: { availability_zone: 'mars' } }
    expect((await act(demo, id, nowhere, { version: '2.77' })).status).toBe(400)
    expect((await act(demo, id, { unshelve: null })).status).toBe(202)
    const awake = await untilStatus(demo, id, 'ACTIVE')

    expect(awake['image']).toEqual(away['image'])
    await untilNoImage(`${name}-shelved`)
    await deleteServer(demo, id)
    await expectInvariants(cloud)
  })

  test('a shelved server that is deleted takes its image with it', async () => {
    const { id } = await activeServer(cloud, demo, { name: 'doomed' })
    await act(demo, id, { shelve: null })
    await untilStatus(demo, id, 'SHELVED_OFFLOADED')

    await deleteServer(demo, id)

    await untilNoImage('doomed-shelved')
    await expectInvariants(cloud)
  })

  test('a server that cannot come back stays shelved, and can be asked again', async () => {
    const { id } = await activeServer(cloud, demo)
    await act(demo, id, { shelve: null })
    await untilStatus(demo, id, 'SHELVED_OFFLOADED')
    fault('spawn')

    await act(demo, id, { unshelve: null })
    await untilSettled(cloud, id)

    expect((await showServer(demo, id)).status).toBe('SHELVED_OFFLOADED')
    noFaults()
    await act(demo, id, { unshelve: null })
    await untilStatus(demo, id, 'ACTIVE')
    await deleteServer(demo, id)
    await expectInvariants(cloud)
  })
})
