import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { textOf } from './json.ts'
import { idOf, type NetworkApi, networkApi } from './network-api.ts'

let api: NetworkApi

beforeAll(async () => {
  api = await networkApi()
})

afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
})

const provider = (type: string, physical?: string, segment?: number) => ({
  'provider:network_type': type,
  ...(physical !== undefined && { 'provider:physical_network': physical }),
  ...(segment !== undefined && { 'provider:segmentation_id': segment }),
})

const aliases = async () =>
  (await api.list(api.demo, 'extensions')).map(({ alias }) => textOf(alias))

// First, because no cell has the engine yet.
test('without the network engine nothing is offered that it alone does', async () => {
  const refused = {
    status: 501,
    message: expect.stringContaining('no cell of this cloud has the network engine OVN'),
  }

  expect(await aliases()).not.toContain('external-net')
  expect(await aliases()).not.toContain('provider')
  expect((await api.ask(api.demo, 'GET', 'extensions/external-net')).status).toBe(404)
  const external = { 'router:external': true }
  expect(await api.refusal(api.admin, 'networks', external)).toEqual(refused)
  expect(await api.refusal(api.admin, 'networks', provider('flat', 'physnet1'))).toEqual(refused)
  const own = await api.network(api.admin)
  expect(
    await api.ask(api.admin, 'PUT', `networks/${idOf(own)}`, { network: external }),
  ).toMatchObject({ status: 501 })
})

describe('a provider network', () => {
  beforeAll(() => api.connectOvn())

  test('is offered once a cell has the engine', async () => {
    expect(await aliases()).toEqual(
      expect.arrayContaining(['external-net', 'provider', 'multi-provider']),
    )
    expect((await api.ask(api.demo, 'GET', 'extensions/external-net')).status).toBe(200)
  })

  test('is made, shown and found by administrators only', async () => {
    const made = await api.network(api.admin, { shared: true, ...provider('vlan', 'lan', 100) })
    const plain = await api.network(api.admin)

    expect(made).toMatchObject(provider('vlan', 'lan', 100))
    expect(plain).toMatchObject({
      'provider:network_type': 'geneve',
      'provider:physical_network': null,
      'provider:segmentation_id': expect.any(Number),
    })
    const shown = await api.ask(api.demo, 'GET', `networks/${idOf(made)}`)
    expect(shown.body['network']).not.toHaveProperty('provider:network_type')
    const segment = 'provider:network_type=vlan&provider:segmentation_id=100'
    expect((await api.list(api.admin, 'networks', segment)).map(idOf)).toEqual([idOf(made)])
    expect((await api.ask(api.demo, 'GET', `networks?${segment}`)).status).toBe(403)
    expect(await api.refusal(api.demo, 'networks', provider('flat', 'other'))).toMatchObject({
      status: 403,
    })
  })

  test('is made of one segment, as Terraform writes it', async () => {
    const of = (...segments: readonly object[]) => ({ name: 'segmented', segments })
    const made = await api.network(api.admin, of(provider('vlan', 'lan', 101)))

    expect(made).toMatchObject(provider('vlan', 'lan', 101))
    expect(made).not.toHaveProperty('segments')
    const two = of(provider('vlan', 'lan', 102), provider('vlan', 'lan', 103))
    expect(await api.refusal(api.admin, 'networks', two)).toEqual({
      status: 400,
      message: expect.stringContaining('a network has one segment, not 2'),
    })
    const both = { ...of(provider('vlan', 'lan', 102)), ...provider('vlan', 'lan', 102) }
    expect(await api.refusal(api.admin, 'networks', both)).toEqual({
      status: 400,
      message: 'Segments and provider values cannot both be set.',
    })
    expect(await api.refusal(api.admin, 'networks', of({}))).toMatchObject({ status: 400 })
    expect(await api.refusal(api.demo, 'networks', of(provider('vlan', 'lan', 102)))).toMatchObject(
      { status: 403 },
    )
    expect(await api.network(api.demo, of())).toMatchObject({ name: 'segmented' })
  })

  test('takes a VLAN or a physical network from no other, of several requests one gets it', async () => {
    const segment = provider('vlan', 'race', 7)
    const replies = await Promise.all(
      [1, 2, 3, 4].map(() => api.ask(api.admin, 'POST', 'networks', { network: segment })),
    )
    await api.network(api.admin, provider('flat', 'physnet1'))
    const key = provider('geneve', undefined, 16_000_777)
    await api.network(api.admin, key)

    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      201, 409, 409, 409,
    ])
    expect(await api.refusal(api.admin, 'networks', segment)).toEqual({
      status: 409,
      message: 'Unable to create the network. The VLAN 7 on physical network race is in use.',
    })
    expect(await api.refusal(api.admin, 'networks', provider('flat', 'physnet1'))).toEqual({
      status: 409,
      message: 'Unable to create the flat network. Physical network physnet1 is in use.',
    })
    expect(await api.refusal(api.admin, 'networks', key)).toEqual({
      status: 409,
      message: 'Unable to create the network. The tunnel ID 16000777 is in use.',
    })
  })

  test.each([
    [{ 'provider:segmentation_id': 5 }, 'network_type required'],
    [provider('vlan', 'lan'), 'segmentation_id out of range (1 through 4094)'],
    [provider('vlan', 'lan', 4095), 'segmentation_id out of range'],
    [provider('vlan', undefined, 5), 'physical_network required for vlan'],
    [provider('flat'), 'physical_network required for flat'],
    [provider('flat', 'lan', 5), 'segmentation_id prohibited'],
    [
      provider('flat', 'nowhere'),
      "physical_network 'nowhere' unknown for flat provider network. Known are: elsewhere, lan",
    ],
    [provider('vlan', 'nowhere', 5), 'unknown for vlan provider network'],
    [provider('geneve', 'lan'), 'provider:physical_network specified'],
    [provider('geneve', undefined, 5), 'out of range (16000001 through 16777215)'],
    [provider('vxlan', undefined, 5), "network_type value 'vxlan' not supported"],
  ])('is refused as %j', async (fields, message) => {
    expect(await api.refusal(api.admin, 'networks', fields)).toEqual({
      status: 400,
      message: expect.stringContaining(message),
    })
  })

  test('stays where it is', async () => {
    const made = await api.network(api.admin)

    const moved = await api.ask(api.admin, 'PUT', `networks/${idOf(made)}`, {
      network: provider('flat', 'elsewhere'),
    })

    expect(moved.status).toBe(400)
    expect(moved.body['NeutronError']?.['message']).toContain('does not support updating provider')
  })
})
