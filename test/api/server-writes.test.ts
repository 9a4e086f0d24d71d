import { afterAll, beforeAll, expect, test } from 'vitest'
import { Failure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import { createFlavor } from '#gateway/app/flavors/flavors.ts'
import { updateImage } from '#gateway/app/images/update-image.ts'
import { findServer } from '#gateway/db/find-server.ts'
import { addImage, type BootWorld, bootWorld } from '../env/boot-world.ts'
import type { ApiClient } from '../env/compute-api.ts'

let world: BootWorld
let nth = 0

beforeAll(async () => {
  world = await bootWorld('server_writes')
})
afterAll(() => world?.[Symbol.asyncDispose]())

interface Created {
  readonly server: { readonly id: string; readonly adminPass?: string }
}
interface Shown {
  readonly server: Readonly<Record<string, unknown>>
}
interface Refused {
  readonly [envelope: string]: { readonly code: number; readonly message: string }
}

function member(): Promise<ApiClient> {
  nth += 1
  return world.api.user(`user-${nth}`, `project-${nth}`, 'member')
}

async function boot(user: ApiClient, change: object = {}): Promise<string> {
  const { status, body } = await user.call<Created>('createServer', {
    body: world.body({ ...change }),
  })
  if (status !== 202) throw new Error(`${status}: ${JSON.stringify(body)}`)
  return body.server.id
}

async function active(user: ApiClient): Promise<string> {
  const id = await boot(user)
  await world.until(id, ({ vmState, taskState }) => vmState === 'active' && taskState === null)
  return id
}

test('a server that was asked for is promised, built with its address, and ACTIVE', async () => {
  const user = await member()

  const { status, body, headers } = await user.call<Created>('createServer', {
    body: world.body({ metadata: { role: 'web' }, adminPass: 'hunter22' }),
  })

  expect(status).toBe(202)
  expect(body.server).toMatchObject({
    adminPass: 'hunter22',
    'OS-DCF:diskConfig': 'MANUAL',
    security_groups: [{ name: 'default' }],
  })
  const { id } = body.server
  expect(headers.get('location')).toBe(`http://gw.example/compute/v2.1/servers/${id}`)
  const server = await world.until(id, ({ vmState }) => vmState === 'active')
  expect(server).toMatchObject({ name: 'web', hostname: 'web', metadata: { role: 'web' } })
  expect(server.addresses['private']).toMatchObject([{ version: 4 }])
  const asked = world.cell.builds.find(({ operation }) => operation.serverId === id)!
  expect(asked.build).toMatchObject({ adminPassword: 'hunter22', name: 'web' })
  expect(asked.build.nics[0]!.fixedIps[0]!.cidr).toBe('10.0.0.0/16')
  expect(asked.build.image.ticket).toMatch(/^v1\./)
})

test('a server whose image names a kernel is built with it, and one that names none there is refused', async () => {
  const { images } = world.api.gateway
  const kernel = await addImage(images, { name: 'kernel' })
  const ramdisk = await addImage(images, { name: 'ramdisk' })
  const named = await addImage(images, { name: 'a', kernel_id: kernel, ramdisk_id: ramdisk })
  const broken = await addImage(images, { name: 'b', kernel_id: newId<string>() })
  const user = await member()

  const id = await boot(user, { imageRef: named })
  const refused = await user.call<Refused>('createServer', {
    body: world.body({ imageRef: broken }),
  })

  await world.until(id, ({ vmState }) => vmState === 'active')
  const { build } = world.cell.builds.find(({ operation }) => operation.serverId === id)!
  const readable = { sizeBytes: 1024, ticket: expect.stringMatching(/^v1\./) }
  expect(build.image).toMatchObject({
    kernel: { id: kernel, ...readable },
    ramdisk: { id: ramdisk, ...readable },
  })
  expect(refused.status).toBe(400)
  expect(refused.body['badRequest']!.message).toBe('Can not find requested image')

  const version = '2.90'
  const admin = await world.api.user('admin', 'admin', 'admin')
  const plain = await active(user)
  const seen = async (server_id: string) => {
    const { body } = await admin.call<Shown>('showServer', { params: { server_id }, version })
    return ['kernel_id', 'ramdisk_id'].map((name) => body.server[`OS-EXT-SRV-ATTR:${name}`])
  }
  const listed = async (query: string) => {
    const asked = { query: `?all_tenants=1&sort_dir=desc&${query}`, version } as const
    const { body } = await admin.call<{ servers: readonly { id: string }[] }>('listServers', asked)
    return body.servers.map((server) => server.id)
  }
  expect(await seen(id)).toEqual([kernel, ramdisk])
  expect(await seen(plain)).toEqual(['', ''])
  for (const query of [
    `kernel_id=${kernel}`,
    `ramdisk_id=${ramdisk.slice(0, 13)}`,
    'kernel_id=[0-9]',
  ])
    expect(await listed(query)).toEqual([id])
  expect(await listed(`project_id=${user.projectId}&sort_key=kernel_id`)).toEqual([id, plain])
  await admin.call('rebuildServer', {
    params: { server_id: plain },
    body: { rebuild: { imageRef: named } },
  })
  await expect.poll(() => seen(plain)).toEqual([kernel, ramdisk])
})

test('a rebuild takes back nothing that was changed while its cell was asked', async () => {
  const user = await member()
  const id = await active(user)
  const params = { server_id: id }
  world.cell.overrides['instance.act'] = async (ask) => {
    const server = { name: 'renamed', description: 'changed' }
    await user.call('updateServer', { params, body: { server }, version: '2.19' })
    const metadata = { changed: 'too' }
    await user.call('updateServerMetadata', { params, body: { metadata } })
    return world.cell.act(ask)
  }

  const rebuild = { imageRef: world.imageId, accessIPv4: '192.0.2.7' }
  await user.call('rebuildServer', { params, body: { rebuild } })
  delete world.cell.overrides['instance.act']

  const shown = await user.call<Shown>('showServer', { params, version: '2.19' })
  expect(shown.body.server).toMatchObject({
    name: 'renamed',
    description: 'changed',
    metadata: { changed: 'too' },
    accessIPv4: '192.0.2.7',
  })
})

test('a flavor that is too small for the image of a server is refused by a resize', async () => {
  const user = await member()
  const { db, images } = world.api.gateway
  const size = { vcpus: 1, rootGb: 1, ephemeralGb: 0, swapMb: 0, rxtxFactor: 1 }
  const small = { id: 'small', name: 'small', memoryMb: 64, isPublic: true, description: null }
  await createFlavor(db, { requestId: 'req-1', userId: user.userId }, { ...size, ...small })
  const imageRef = await addImage(images, { name: 'needs memory' })
  await updateImage(images, { projectId: null, isAdmin: true }, imageRef, [
    { op: 'replace', path: '/min_ram', value: 128 },
  ])
  const id = await boot(user, { imageRef })
  await world.until(id, ({ vmState }) => vmState === 'active')

  const { status, body } = await user.call<Refused>('resizeServer', {
    params: { server_id: id },
    body: { resize: { flavorRef: 'small' } },
  })

  expect(status).toBe(400)
  expect(body['badRequest']?.message).toBe("Flavor's memory is too small for requested image.")
})

test('several servers of one request are numbered and share a reservation', async () => {
  const user = await member()
  const { body } = await user.call<{ readonly reservation_id: string }>('createServer', {
    body: world.body({ min_count: 2, max_count: 3, return_reservation_id: true }),
  })

  const built = () => world.cell.builds.filter(({ build }) => build.projectId === user.projectId)
  await expect.poll(() => built().length).toBe(3)
  expect(new Set(built().map(({ build }) => build.name))).toEqual(
    new Set(['web-1', 'web-2', 'web-3']),
  )
  expect(new Set(built().map(({ build }) => build.reservationId))).toEqual(
    new Set([body.reservation_id]),
  )
})

test('a request above the quota creates as many servers as fit, and none if fewer than the minimum fit', async () => {
  const user = await member()
  const many = { body: world.body({ min_count: 1, max_count: 30 }), version: '2.1' } as const
  await user.call('createServer', many)
  // A build is asked again where its answer is late.
  const built = () => {
    const own = world.cell.builds.filter(({ build }) => build.projectId === user.projectId)
    return new Set(own.map(({ operation }) => operation.serverId)).size
  }
  await expect.poll(built).toBe(10)

  const { status, body } = await user.call<Refused>('createServer', { body: world.body() })

  expect(status).toBe(403)
  expect(body['forbidden']!.message).toBe(
    'Quota exceeded for instances: Requested 1, but already used 10 of 10 instances',
  )
})

test('a repeat under the same idempotency key creates nothing and returns the same server', async () => {
  const user = await member()
  const headers = { 'Idempotency-Key': newId<string>() }
  const ask = { body: world.body(), headers }

  const answers = await Promise.all(
    Array.from({ length: 4 }, () => user.call<Created>('createServer', ask)),
  )

  expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202])
  expect(new Set(answers.map(({ body }) => body.server.id)).size).toBe(1)
  expect(answers.filter(({ body }) => body.server.adminPass !== undefined)).toHaveLength(1)
  const other = { body: world.body({ name: 'other' }), headers }
  expect((await user.call('createServer', other)).status).toBe(422)
})

test.each([
  ['an unknown flavor', { flavorRef: 'nope' }, 'Flavor nope could not be found.'],
  ['an unknown key', { key_name: 'nope' }, 'Invalid key_name provided.'],
  [
    'an unknown zone',
    { availability_zone: 'nope' },
    'The requested availability zone is not available',
  ],
  [
    'an unknown volume',
    {
      block_device_mapping_v2: [{ source_type: 'volume', uuid: 'v', boot_index: 0 }],
      imageRef: '',
    },
    'Block Device Mapping is Invalid: Volume v could not be found.',
  ],
  [
    'a disk that the flavor lacks',
    { block_device_mapping_v2: [{ source_type: 'blank', volume_size: 1 }] },
    /^Ephemeral disks requested are larger/,
  ],
  [
    'a disk that the host would have to format',
    { block_device_mapping_v2: [{ source_type: 'blank', guest_format: 'ext4' }] },
    /guest_format 'ext4' is not supported/,
  ],
  ['a file that is no base64', { personality: [{ path: '/a', contents: '*' }] }, /contents/],
  ['fewer than none', { min_count: 3, max_count: 2 }, 'min_count must be <= max_count'],
])('%s is refused with 400 and nothing is made', async (_what, change, message) => {
  const user = await member()

  const { status, body } = await user.call<Refused>('createServer', { body: world.body(change) })

  expect(status).toBe(400)
  expect(body['badRequest']!.message).toMatch(message)
})

test.each([
  [
    { build_near_host_ip: '10.0.0.1', cidr: '/24' },
    "'build_near_host_ip' is not supported: no cell runs the SimpleCIDRAffinityFilter",
  ],
  [{ query: '["=","$x",1]' }, "'query' is not supported: no cell runs the JsonFilter"],
  [{ cidr: '/24' }, "'cidr' has no effect by itself"],
])('the hints %j, which nothing here heeds, are refused with 400', async (hints, reason) => {
  const user = await member()
  const body = { ...world.body(), 'os:scheduler_hints': hints }

  const refused = await user.call<Refused>('createServer', { body })

  expect(refused.status).toBe(400)
  expect(refused.body['badRequest']!.message).toContain(reason)
})

test('the block device that clients add for the image itself is accepted', async () => {
  const user = await member()
  const disk = {
    uuid: world.imageId,
    boot_index: 0,
    source_type: 'image',
    destination_type: 'local',
    delete_on_termination: true,
  }

  await boot(user, { block_device_mapping_v2: [disk] })
  const unformatted = { source_type: 'blank', destination_type: 'local', guest_format: '' }
  await boot(user, { block_device_mapping_v2: [disk, unformatted] })
})

test("a server is stopped and started, and refuses acts in a wrong state in Nova's words", async () => {
  const user = await member()
  const id = await active(user)
  const act = (operation: string, body: object) =>
    user.call<Refused>(operation, { params: { server_id: id }, body })

  expect((await act('stopServer', { 'os-stop': null })).status).toBe(202)
  expect(await findServer(world.api.gateway.db, id)).toMatchObject({ vmState: 'stopped' })
  const again = await act('stopServer', { 'os-stop': null })
  expect(again.status).toBe(409)
  expect(again.body['conflictingRequest']!.message).toBe(
    `Cannot 'stop' instance ${id} while it is in vm_state stopped`,
  )
  expect((await act('startServer', { 'os-start': null })).status).toBe(202)
  expect((await act('rebootServer', { reboot: { type: 'SOFT' } })).status).toBe(202)
})

test('a refusal of a cell is answered with the status of its kind', async () => {
  const user = await member()
  const id = await active(user)
  world.cell.overrides = {
    'instance.act': () => {
      throw new Failure('unsupported', 'The driver cannot pause.')
    },
  }

  const { status } = await user.call('pauseServer', {
    params: { server_id: id },
    body: { pause: null },
  })

  world.cell.overrides = {}
  expect(status).toBe(501)
  const { status: stopped } = await user.call('stopServer', {
    params: { server_id: id },
    body: { 'os-stop': null },
  })
  expect(stopped).toBe(202)
})

test('a forced reboot begins over an act that its cell has not accepted yet; no other act does', async () => {
  const user = await member()
  const id = await active(user)
  const asked: string[] = []
  const accepted = Promise.withResolvers<void>()
  world.cell.overrides = {
    'instance.act': async (ask) => {
      asked.push(ask.act.name)
      if (ask.act.name === 'reboot-soft') await accepted.promise
      return world.cell.act(ask)
    },
  }
  const reboot = async (type: string) => {
    const params = { server_id: id }
    return (await user.call('rebootServer', { params, body: { reboot: { type } } })).status
  }

  const soft = reboot('SOFT')
  await expect.poll(() => asked).toEqual(['reboot-soft'])
  expect(await reboot('SOFT')).toBe(409)
  const hard = reboot('HARD')
  accepted.resolve()

  expect(await Promise.all([soft, hard])).toEqual([202, 202])
  expect(asked).toEqual(['reboot-soft', 'reboot-hard'])
  world.cell.overrides = {}
})

test('a console log is that of the cell', async () => {
  const user = await member()
  const id = await active(user)

  const { body } = await user.call<{ readonly output: string }>('showServerConsoleOutput', {
    params: { server_id: id },
    body: { 'os-getConsoleOutput': {} },
  })

  expect(body.output).toBe('booted')
})

test('a deleted server is gone, its quota and its address free again', async () => {
  const user = await member()
  const id = await active(user)

  const { status } = await user.call('deleteServer', { params: { server_id: id } })

  expect(status).toBe(204)
  await world.until(id, ({ deletedAt }) => deletedAt !== null)
  expect((await user.call('deleteServer', { params: { server_id: id } })).status).toBe(404)
  const many = world.body({ min_count: 10, max_count: 10 })
  expect((await user.call('createServer', { body: many })).status).toBe(202)
})

test('another project’s server and a name instead of an id are not found', async () => {
  const [owner, stranger] = [await member(), await member()]
  const id = await active(owner)
  for (const server_id of [id, 'web'])
    expect((await stranger.call('deleteServer', { params: { server_id } })).status).toBe(404)
})
