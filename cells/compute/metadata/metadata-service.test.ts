import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { Failure } from '#common/errors.ts'
import { type InstanceId, type NetworkId, newId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import type { ServerLabels } from '#openapi/wire/labels.ts'
import { LoopbackNetworks } from '#test/env/loopback-networks.ts'
import { sampleBuild } from '#test/env/sample-build.ts'
import { configDriveFiles } from './config-drive.ts'
import { MetadataService } from './metadata-service.ts'
import { type GuestRecord, MetadataStore } from './metadata-store.ts'

// Goal: a guest is told what its config drive tells, by the network and address that it asks from, and no other guest's.

const [blue, red] = [newId<NetworkId>(), newId<NetworkId>()]
/** The addresses of the test's guests are those of the loopback device. */
const [FIRST, SECOND] = ['127.0.0.2', '127.0.0.3']

let folder: string
let store: MetadataStore
let service: MetadataService
let networks: LoopbackNetworks
let reported: GuestRecord[]
let isCellAway: boolean

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-metadata-'))
  networks = new LoopbackNetworks()
  reported = []
  isCellAway = false
  await start()
})
afterEach(async () => {
  await service[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

async function start(): Promise<void> {
  store = await MetadataStore.open(folder)
  service = new MetadataService({
    ...{ store, guests: networks, clock: systemClock, log: createLogger('test', 'silent') },
    reportPassword: async (guest) => {
      if (isCellAway) throw new Failure('unavailable', 'The cell did not answer.')
      reported.push(guest)
    },
  })
}

const nicOn = (networkId: NetworkId, address: string) => ({
  ...{ portId: newId<string>(), networkId: networkId as string },
  ...{ macAddress: 'fa:16:3e:00:00:01', mtu: 1442 },
  fixedIps: [
    { address, cidr: '127.0.0.0/8', gateway: null, dhcp: true, dnsServers: ['192.0.2.53'] },
  ],
})

const KEY = 'ssh-ed25519 AAAA alice'
const buildAt = (networkId: NetworkId, address: string, name: string) =>
  sampleBuild({
    ...{ name, hostname: name, metadata: { role: name } },
    nics: [nicOn(networkId, address)],
    keypair: { name: 'alice', type: 'ssh', publicKey: KEY },
    userData: Buffer.from('#!/bin/sh\necho hello').toString('base64'),
    adminPassword: 'secret-of-the-drive',
  })

async function guest(
  networkId: NetworkId,
  address: string,
  name: string,
  build = buildAt(networkId, address, name),
): Promise<InstanceId> {
  const id = newId<InstanceId>()
  await store.put(id, 1, build)
  await expect.poll(() => networks.port(networkId)).not.toBe(0)
  return id
}

function labelsOf(serverId: string, name: string): ServerLabels {
  const text = { serverId, name, hostname: name, description: null, metadata: {}, tags: [] }
  return { ...text, diskConfig: 'AUTO', accessIPv4: null, accessIPv6: null }
}

interface Answer {
  readonly status: number
  readonly text: string
}

/** A request from this address of the loopback device, as the guest that has the address. */
async function ask(
  networkId: NetworkId,
  address: string,
  path: string,
  { method = 'GET', body, headers = {} }: { method?: string; body?: string; headers?: object } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request(
      {
        ...{ host: '127.0.0.1', port: networks.port(networkId), localAddress: address },
        ...{ path, method, agent: false, headers: { ...headers } },
      },
      (response) => {
        let text = ''
        response.setEncoding('latin1').on('data', (part: string) => {
          text += part
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      },
    )
    asked.once('error', reject).end(body)
  })
}

test('the service and the config drive tell the same, but for the password and new random bytes', async () => {
  const build = buildAt(blue, FIRST, 'one')
  const id = await guest(blue, FIRST, 'one', build)
  const drive = configDriveFiles(id, build)
  const asked = async (path: string) => (await ask(blue, FIRST, path)).text

  for (const path of Object.keys(drive).filter((each) => each.startsWith('openstack/'))) {
    const answer = await asked(`/${path}`)
    if (path.endsWith('.json')) expect(comparable(answer)).toEqual(comparable(text(drive, path)))
    else expect(answer).toBe(text(drive, path))
  }
  expect(await asked('/latest/user-data')).toBe('#!/bin/sh\necho hello')
  const ec2 = JSON.parse(text(drive, 'ec2/latest/meta-data.json')) as Record<string, unknown>
  for (const [name, value] of Object.entries(ec2))
    if (typeof value === 'string') expect(await asked(`/latest/meta-data/${name}`)).toBe(value)
  expect(await asked('/latest/meta-data/public-keys/0/openssh-key')).toBe(KEY)
})

function text(files: Readonly<Record<string, Uint8Array>>, path: string): string {
  return Buffer.from(files[path]!).toString('latin1')
}

function comparable(json: string): object {
  const {
    random_seed: seed,
    admin_pass: _password,
    ...rest
  } = JSON.parse(json) as Record<string, unknown>
  return { ...rest, hasSeed: seed !== undefined }
}

test('secrets of the config drive are not on the disk of the service', async () => {
  const id = await guest(blue, FIRST, 'one')

  expect(await readFile(join(folder, `${id}.json`), 'utf8')).not.toContain('secret-of-the-drive')
})

test('folders list the names in them, and unknown paths are not found', async () => {
  await guest(blue, FIRST, 'one')
  const at = (path: string) => ask(blue, FIRST, path)

  expect((await at('/')).text.split('\n')).toContain('2009-04-04')
  expect((await at('/openstack')).text.split('\n')).toContain('latest')
  expect((await at('/openstack/latest/')).text.split('\n')).toEqual([
    ...['meta_data.json', 'network_data.json', 'vendor_data.json', 'vendor_data2.json'],
    ...['user_data', 'password'],
  ])
  expect((await at('/latest/')).text).toBe('meta-data/\nuser-data')
  expect((await at('/latest/meta-data/')).text.split('\n')).toContain('public-keys/')
  expect((await at('/latest/meta-data/public-keys/')).text).toBe('0=alice')
  expect((await at('/latest/meta-data/placement/')).text).toBe('availability-zone')
  for (const path of [
    '/nothing',
    '/openstack/1999-01-01',
    '/latest/meta-data/__proto__',
    '/latest/meta-data/hostname/x',
  ])
    expect((await at(path)).status).toBe(404)
  expect((await ask(blue, FIRST, '/latest/', { method: 'PUT' })).status).toBe(405)
})

test('a guest is known by its network and address, and headers change nothing', async () => {
  await guest(blue, FIRST, 'one')
  await guest(blue, SECOND, 'two')
  await guest(red, FIRST, 'other')
  const hostname = async (network: NetworkId, address: string, headers = {}) =>
    (await ask(network, address, '/latest/meta-data/hostname', { headers })).text

  expect(await hostname(blue, FIRST)).toBe('one.novalocal')
  expect(await hostname(blue, SECOND)).toBe('two.novalocal')
  expect(await hostname(red, FIRST)).toBe('other.novalocal')
  const forged = { 'x-forwarded-for': SECOND, 'x-instance-id': newId(), host: SECOND }
  expect(await hostname(blue, FIRST, forged)).toBe('one.novalocal')
  expect((await ask(red, SECOND, '/latest/meta-data/hostname')).status).toBe(404)
})

test('an IPv6 address of the link is that of the port’s MAC address', async () => {
  const id = await guest(blue, FIRST, 'one')

  expect(store.at(blue, 'fe80::f816:3eff:fe00:1%eth0')?.id).toBe(id)
  expect(store.at(blue, 'fe80::f816:3eff:fe00:2%eth0')).toBeUndefined()
  expect(store.at(red, 'fe80::f816:3eff:fe00:1%eth0')).toBeUndefined()
})

test('changed labels, NICs and ends of guests show at once, and after a restart', async () => {
  const id = await guest(blue, FIRST, 'one')
  await store.label({
    ...labelsOf(id, 'renamed'),
    metadata: { role: 'new' },
    guest: { securityGroups: ['web', 'default'], publicIpv4: '203.0.113.9', passwordClears: 0 },
  })
  await service[Symbol.asyncDispose]()
  networks = new LoopbackNetworks()
  await start()
  await expect.poll(() => networks.port(blue)).not.toBe(0)

  const at = async (name: string) => (await ask(blue, FIRST, `/latest/meta-data/${name}`)).text
  expect(await at('hostname')).toBe('renamed.novalocal')
  expect(await at('security-groups')).toBe('web\ndefault')
  expect(await at('public-ipv4')).toBe('203.0.113.9')
  const { text: metadata } = await ask(blue, FIRST, '/openstack/latest/meta_data.json')
  expect(JSON.parse(metadata)).toMatchObject({ name: 'renamed', meta: { role: 'new' } })

  const further = nicOn(red, SECOND)
  await store.attach(id, further)
  await expect.poll(() => networks.port(red)).not.toBe(0)
  expect((await ask(red, SECOND, '/latest/meta-data/hostname')).text).toBe('renamed.novalocal')
  await store.detach(id, further.portId)
  await expect.poll(() => networks.listening.has(red)).toBe(false)
  await store.remove(id)
  await expect.poll(() => networks.listening.size).toBe(0)
})

test('work that fails leaves what was told before, and work of unknown outcome what is wanted', async () => {
  const id = newId<InstanceId>()
  const build = buildAt(blue, FIRST, 'one')
  const failing = (kind: 'invalid' | 'unavailable') => () =>
    Promise.reject(new Failure(kind, 'It failed.'))
  const answer = () => store.at(blue, FIRST)?.build.name

  await expect(store.during(id, 1, build, failing('invalid'))).rejects.toThrow('It failed.')
  expect(answer()).toBeUndefined()
  expect(await readdir(folder)).toEqual([])

  expect(await store.during(id, 1, build, async () => answer())).toBe('one')
  const renamed = { ...build, name: 'other' }
  await expect(store.during(id, 1, renamed, failing('invalid'))).rejects.toThrow('It failed.')
  expect(answer()).toBe('one')
  await expect(store.during(id, 1, renamed, failing('unavailable'))).rejects.toThrow('It failed.')
  expect(answer()).toBe('other')
})

test('a password is taken once, reported until the cell has it, and may be published again when it was cleared', async () => {
  const id = await guest(blue, FIRST, 'one')
  const path = '/openstack/latest/password'
  const publish = (body: string) => ask(blue, FIRST, path, { method: 'POST', body })

  isCellAway = true
  expect((await publish('x'.repeat(1_021))).status).toBe(400)
  expect((await publish('encrypted')).status).toBe(200)
  expect((await publish('again')).status).toBe(409)
  expect((await ask(blue, FIRST, path)).text).toBe('encrypted')
  expect(reported).toEqual([])
  isCellAway = false
  store.onChange()
  await expect.poll(() => reported.map(({ password }) => password)).toEqual(['encrypted'])

  const cleared = { securityGroups: [], publicIpv4: null, passwordClears: 1 }
  await store.label({ ...labelsOf(id, 'one'), guest: cleared })
  expect((await ask(blue, FIRST, path)).text).toBe('')
  expect((await publish('second')).status).toBe(200)
  await expect
    .poll(() => reported.at(-1))
    .toMatchObject({ password: 'second', labels: { passwordClears: 1 } })
})

test('an address has a share of connections, and others are served beside it', async () => {
  await guest(blue, FIRST, 'one')
  await guest(blue, SECOND, 'two')
  const open = Array.from({ length: 40 }, () =>
    connect({ host: '127.0.0.1', port: networks.port(blue), localAddress: FIRST }),
  )
  for (const socket of open) socket.on('error', () => {}).resume()
  await expect.poll(() => open.filter(({ closed }) => closed).length).toBe(24)

  expect((await ask(blue, SECOND, '/latest/meta-data/hostname')).status).toBe(200)
  for (const socket of open) socket.destroy()
})

test('a guest finds a volume by its tag while it has it, also after a restart', async () => {
  const network = newId<NetworkId>()
  const id = await guest(network, '127.0.0.1', 'web')
  const attachment = { id: newId<string>(), store: 'store', volumeId: newId<string>(), tag: 'data' }
  const how = { isReadOnly: false, isShared: false }
  const devices = async () => {
    const { text } = await ask(network, '127.0.0.1', '/openstack/latest/meta_data.json')
    return (JSON.parse(text) as { readonly devices: readonly unknown[] }).devices
  }

  await store.attachVolume(id, { ...attachment, ...how })
  const again = await MetadataStore.open(folder)
  expect(again.guests()).toEqual(store.guests())

  const disk = { type: 'disk', serial: attachment.volumeId, tags: ['data'] }
  expect(await devices()).toMatchObject([disk])
  await store.detachVolume(id, attachment.id)
  expect(await devices()).toEqual([])
})
