import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import type { Microversion } from '#openapi/microversions.ts'
import type { Answer, ApiClient, Loose } from '#test/env/api/client.ts'
import { createServer, deleteServer, untilStatus } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { WeirCommand } from '#test/env/weir-command.ts'

// Goal: traits that administrators give to hosts decide where servers go, and stay.

let cloud: Cloud
let admin: ApiClient
let demo: ApiClient

beforeAll(async () => {
  const driverOf = { 'north-3': { machines: 'CUSTOM_GOLD=1' } }
  cloud = await startCloud({ gateways: 1, cells: 1, hostsPerCell: 3, driverOf })
  admin = cloud.as('admin')
  demo = cloud.as('demo')
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
})

const NEWEST: Microversion = '1.39'
type Method = 'GET' | 'PUT' | 'DELETE'
const ask = (method: Method, path: string, body?: object, version = NEWEST, who = admin) =>
  who.call<Loose>(method, `/placement${path}`, body, { version })

interface Traits {
  readonly traits: readonly string[]
  readonly resource_provider_generation: number
}
const of = (nth: number) => `/resource_providers/${cloud.hosts[nth]!.id}/traits`
const traitsOf = async (nth = 0) =>
  (await admin.get<Traits>(`/placement${of(nth)}`, { version: NEWEST })).body

/** Afterwards the host has these, besides its own. */
async function give(traits: readonly string[], nth = 0): Promise<Traits> {
  for (const name of traits) await ask('PUT', `/traits/${name}`)
  const { resource_provider_generation } = await traitsOf(nth)
  const { status, body } = await ask('PUT', of(nth), { traits, resource_provider_generation })
  expect(status, JSON.stringify(body)).toBe(200)
  return body as unknown as Traits
}

const codeOf = ({ status, body }: Answer<Loose>) => {
  const { errors } = body as { errors?: readonly { code: string; detail: string }[] }
  return [status, errors?.[0]?.code, errors?.[0]?.detail] as const
}

async function flavorWith(specs: object): Promise<string> {
  const id = newId<string>()
  await admin.post('/compute/v2.1/flavors', {
    flavor: { name: id, id, ram: 64, vcpus: 1, disk: 1 },
  })
  await admin.post(`/compute/v2.1/flavors/${id}/os-extra_specs`, { extra_specs: specs })
  return id
}

const made: string[] = []

afterEach(async () => {
  for (const id of made.splice(0)) await deleteServer(demo, id)
})

async function create(change: object): Promise<string> {
  const id = await createServer(cloud, demo, change)
  made.push(id)
  return id
}

async function boot(flavorRef: string): Promise<string> {
  const id = await create({ flavorRef })
  await untilStatus(demo, id, 'ACTIVE')
  return id
}

async function refused(flavorRef: string): Promise<void> {
  const id = await create({ flavorRef })
  await expect(untilStatus(demo, id, 'ACTIVE')).rejects.toThrow('No valid host was found')
}

const hostOf = async (id: string) =>
  (await admin.get<{ server: Loose }>(`/compute/v2.1/servers/${id}`)).body.server[
    'OS-EXT-SRV-ATTR:host'
  ]

describe('custom traits', () => {
  test('are made and deleted, with the answers of Placement', async () => {
    const made = await ask('PUT', '/traits/CUSTOM_NEW')
    expect(made.status).toBe(201)
    expect(made.headers['location']).toMatch(/\/placement\/traits\/CUSTOM_NEW$/)
    expect((await ask('PUT', '/traits/CUSTOM_NEW')).status).toBe(204)
    expect((await ask('GET', '/traits/CUSTOM_NEW')).status).toBe(204)
    expect((await ask('GET', '/traits?associated=false')).body['traits']).toContain('CUSTOM_NEW')
    expect((await ask('PUT', '/traits/CUSTOM_NEW', undefined, '1.5')).status).toBe(404)

    for (const name of ['HW_CPU_X86_VMX', 'CUSTOM_', 'CUSTOM_low', `CUSTOM_${'A'.repeat(249)}`])
      expect((await ask('PUT', `/traits/${name}`)).status, name).toBe(400)
    expect((await ask('DELETE', '/traits/COMPUTE_NODE')).status).toBe(400)
    expect((await ask('DELETE', '/traits/COMPUTE_STATUS_DISABLED')).status).toBe(400)
    expect((await ask('DELETE', '/traits/CUSTOM_NEW')).status).toBe(204)
    expect((await ask('DELETE', '/traits/CUSTOM_NEW')).status).toBe(404)
    expect((await ask('GET', '/traits/CUSTOM_NEW')).status).toBe(404)
  })

  test('are given to a host by who has read it, besides those that its driver finds', async () => {
    const before = await traitsOf()
    await ask('PUT', '/traits/CUSTOM_GIVEN')
    const put = (traits: readonly string[], generation: number) =>
      ask('PUT', of(0), { traits, resource_provider_generation: generation })

    const { resource_provider_generation: now } = await traitsOf()
    expect(codeOf(await put(['CUSTOM_GIVEN'], now + 1))).toMatchObject([
      409,
      'placement.concurrent_update',
      expect.stringContaining(`generation ${now} now`) as string,
    ])
    expect((await put(['CUSTOM_NOWHERE'], now)).status).toBe(400)
    expect((await put(['HW_CPU_X86_AVX2'], now)).status).toBe(400)
    const given = (await give(['CUSTOM_GIVEN', 'COMPUTE_NODE'])).traits
    expect(given).toEqual([...before.traits, 'CUSTOM_GIVEN'].toSorted())
    expect((await put([], now)).status).toBe(409)
    expect((await ask('DELETE', '/traits/CUSTOM_GIVEN')).status).toBe(409)
    expect(await traitsOf(1)).toMatchObject({ traits: before.traits })

    const candidates = async (required: string) => {
      const { body } = await ask(
        'GET',
        `/allocation_candidates?resources=VCPU:1&required=${required}`,
      )
      return (body['allocation_requests'] as readonly unknown[]).length
    }
    expect(await candidates('CUSTOM_GIVEN')).toBe(1)
    expect(await candidates('!CUSTOM_GIVEN')).toBe(1)

    expect((await ask('DELETE', of(0))).status).toBe(204)
    expect((await traitsOf()).traits).toEqual(before.traits)
    expect((await ask('DELETE', '/traits/CUSTOM_GIVEN')).status).toBe(204)
  })

  test('are refused where they would have no effect', async () => {
    await ask('PUT', '/traits/CUSTOM_GIVEN')
    const { traits, resource_provider_generation } = await traitsOf(2)
    const put = (names: readonly string[]) =>
      ask('PUT', of(2), { traits: names, resource_provider_generation })

    const refused = codeOf(await put(['CUSTOM_GIVEN']))
    expect(refused).toMatchObject([400, expect.anything(), expect.stringContaining('machines')])
    expect((await put(traits)).status).toBe(200)
  })

  test('are administrators’ business', async () => {
    const body = { traits: [], resource_provider_generation: 1 }
    expect((await ask('PUT', '/traits/CUSTOM_X', undefined, NEWEST, demo)).status).toBe(403)
    expect((await ask('DELETE', '/traits/CUSTOM_X', undefined, NEWEST, demo)).status).toBe(403)
    expect((await ask('PUT', of(0), body, NEWEST, demo)).status).toBe(403)
    expect((await ask('DELETE', of(0), undefined, NEWEST, demo)).status).toBe(403)
    const unknown = `/resource_providers/${newId<string>()}/traits`
    expect((await ask('PUT', unknown, body)).status).toBe(404)
    expect((await ask('DELETE', unknown)).status).toBe(404)
  })
})

test('the weir command gives hosts traits and takes them away', async () => {
  const weir = new WeirCommand(cloud, 'admin')
  const added = await weir.json<readonly string[]>('host trait add north-1 CUSTOM_A CUSTOM_B')
  expect(added).toEqual(expect.arrayContaining(['COMPUTE_NODE', 'CUSTOM_A', 'CUSTOM_B']))
  expect(await weir.json('host trait add north-1 CUSTOM_A')).toEqual(added)
  expect((await weir.run('host trait list north-1')).out).toMatch(/^TRAIT\n(?:.*\n)*CUSTOM_A$/m)
  expect((await weir.run('host trait list north-1 -o csv')).out).toMatch(
    /^trait\r\n(?:\w+\r\n)*CUSTOM_B\r\n$/,
  )

  const left = await weir.json('host trait remove north-1 CUSTOM_A')
  expect(left).toEqual(added.filter((trait) => trait !== 'CUSTOM_A'))
  const again = await weir.run('host trait remove north-1 CUSTOM_A')
  expect(again).toMatchObject({ code: 3, err: expect.stringContaining('no trait CUSTOM_A') })
  const kept = await weir.run('host trait remove north-1 COMPUTE_NODE')
  expect(kept).toMatchObject({ code: 1, err: expect.stringContaining('its driver finds it') })
  const odd = await weir.run('host trait add north-1 fast')
  expect(odd).toMatchObject({ code: 2, err: expect.stringContaining('begins with CUSTOM_') })
  await weir.json('host trait remove north-1 CUSTOM_B')
})

describe('servers', () => {
  test('go where a trait that they require was given, and nowhere before', async () => {
    const flavor = await flavorWith({ 'trait:CUSTOM_FAST': 'required' })
    await refused(flavor)

    await give(['CUSTOM_FAST'], 1)

    const after = await boot(flavor)
    expect(await hostOf(after)).toBe(cloud.hosts[1]!.name)
    expect(await hostOf(await boot(flavor))).toBe(cloud.hosts[1]!.name)
  })

  test('go where a trait that their image requires was given', async () => {
    const image = await demo.post<{ id: string }>('/image/v2/images', {
      ...{ name: 'silent', disk_format: 'raw', container_format: 'bare' },
      hypervisor_type: 'fake',
      'trait:CUSTOM_SILENT': 'required',
    })
    await demo.put(`/image/v2/images/${image.body.id}/file`, undefined, {
      raw: Buffer.from('x'),
      headers: { 'content-type': 'application/octet-stream' },
    })
    await give(['CUSTOM_SILENT'], 1)

    const id = await create({ imageRef: image.body.id })
    await untilStatus(demo, id, 'ACTIVE')
    expect(await hostOf(id)).toBe(cloud.hosts[1]!.name)
  })

  test('keep away from a trait that they forbid', async () => {
    const flavor = await flavorWith({ 'trait:CUSTOM_LOUD': 'forbidden' })
    await give(['CUSTOM_LOUD'], 0)
    expect(await hostOf(await boot(flavor))).toBe(cloud.hosts[1]!.name)

    await give(['CUSTOM_LOUD'], 1)
    await refused(flavor)
    await give([], 0)
    expect(await hostOf(await boot(flavor))).toBe(cloud.hosts[0]!.name)
  })

  test('find the trait after their cell, its hosts and the gateway were started again', async () => {
    const flavor = await flavorWith({ 'trait:CUSTOM_KEPT': 'required' })
    await give(['CUSTOM_KEPT'], 1)
    const [cell] = cloud.cells
    const processes = [
      ...cell!.computes.map(({ process }) => process),
      ...cell!.processes,
      ...cloud.gateways,
    ]
    for (const process of processes) await process.stop()
    for (const process of processes.toReversed()) await process.start()
    await cloud.waitUntilWhole()

    expect((await traitsOf(1)).traits).toContain('CUSTOM_KEPT')
    expect(await hostOf(await boot(flavor))).toBe(cloud.hosts[1]!.name)
  })

  test('find a trait that was given while their cell was unreachable', async () => {
    const flavor = await flavorWith({ 'trait:CUSTOM_LATE': 'required' })
    const [cell] = cloud.cells
    for (const process of cell!.processes) await process.stop()
    await cloud.waitUntilUnreachable()
    expect((await give(['CUSTOM_LATE'], 0)).traits).toContain('CUSTOM_LATE')
    for (const process of cell!.processes) await process.start()
    await cloud.waitUntilWhole()

    // The reconciler of the gateway tells the cell.
    const question = { flavor, image: cloud.catalog.image }
    await expect
      .poll(async () => (await admin.post<Loose>('/federation/v1/placements', question)).body, POLL)
      .toMatchObject({ host: cloud.hosts[0]!.name })
    expect(await hostOf(await boot(flavor))).toBe(cloud.hosts[0]!.name)
    await expectInvariants(cloud)
  })
})

const POLL = { timeout: 30_000, interval: 1_000 }
