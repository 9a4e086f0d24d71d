import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Reply } from './identity-world.ts'
import { textOf } from './json.ts'
import { idOf, type NetworkApi, networkApi } from './network-api.ts'

let api: NetworkApi

beforeAll(async () => {
  api = await networkApi()
})

afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
})

const pool = (prefixes: readonly string[], fields: object = {}, token = api.demo) =>
  api.make(token, 'subnetpools', { name: 'pool', prefixes, ...fields })
const change = (id: string, fields: object, token = api.demo) =>
  api.ask(token, 'PUT', `subnetpools/${id}`, { subnetpool: fields })
const fault = ({ status, body }: Reply) => ({
  status,
  type: body['NeutronError']?.['type'],
  message: textOf(body['NeutronError']?.['message']),
})
const subnetOf = async (fields: object, token = api.demo) => {
  const network_id = idOf(await api.network(token))
  return api.ask(token, 'POST', 'subnets', { subnet: { network_id, ...fields } })
}

describe('a subnet pool', () => {
  test('is made, shown, listed, changed and deleted', async () => {
    const made = await pool(['10.10.0.0/17', '10.10.0.0/16', '10.1.0.0/24'], { description: 'd' })
    const id = idOf(made)

    expect(made).toMatchObject({
      name: 'pool',
      description: 'd',
      ip_version: 4,
      prefixes: ['10.1.0.0/24', '10.10.0.0/16'],
      default_prefixlen: 8,
      min_prefixlen: 8,
      max_prefixlen: 32,
      default_quota: null,
      shared: false,
      is_default: false,
      address_scope_id: null,
      revision_number: 1,
    })
    const wider = await change(id, { prefixes: ['10.0.0.0/8'], default_prefixlen: '26', name: 'n' })
    expect(wider.body['subnetpool']).toMatchObject({
      prefixes: ['10.0.0.0/8'],
      default_prefixlen: 26,
      revision_number: 2,
    })
    expect((await api.list(api.demo, 'subnetpools', 'name=n&ip_version=4')).map(idOf)).toEqual([id])
    await api.ask(api.demo, 'PUT', `subnetpools/${id}/tags`, { tags: ['a'] })
    expect(await api.list(api.demo, 'subnetpools', 'tags=a&fields=id')).toEqual([{ id }])
    expect(fault(await change(id, { prefixes: ['10.0.0.0/9'] }))).toMatchObject({
      status: 400,
      type: 'IllegalSubnetPoolPrefixUpdate',
    })
    expect((await api.askFor(1, 'DELETE', `subnetpools/${id}`)).status).toBe(412)
    expect((await api.ask(api.demo, 'DELETE', `subnetpools/${id}`)).status).toBe(204)
    expect(fault(await api.ask(api.demo, 'GET', `subnetpools/${id}`))).toEqual({
      status: 404,
      type: 'SubnetPoolNotFound',
      message: `Subnet pool ${id} could not be found.`,
    })
  })

  test.each([
    [{ prefixes: [] }, 'Empty subnet pool prefix list'],
    [{ prefixes: ['10.0.0.0/8', '2001:db8::/32'] }, 'Cannot mix IPv4 and IPv6'],
    [{ prefixes: ['10.0.0.1/8'] }, 'has host bits set'],
    [{ min_prefixlen: 24, max_prefixlen: 16 }, 'Illegal prefix bounds'],
    [{ max_prefixlen: 33 }, 'Illegal prefix bounds'],
    [{ min_prefixlen: 24, default_prefixlen: 20 }, 'Illegal prefix bounds'],
    [{ max_prefixlen: 24, default_prefixlen: 28 }, 'Illegal prefix bounds'],
  ])('is refused as %j', async (fields, message) => {
    expect(
      await api.refusal(api.demo, 'subnetpools', { prefixes: ['10.0.0.0/8'], ...fields }),
    ).toEqual({
      status: 400,
      message: expect.stringContaining(message),
    })
  })

  test('is shared, and made the default, by administrators only; each IP version has one default', async () => {
    for (const fields of [{ shared: true }, { is_default: true }, { project_id: api.adminProject }])
      expect(
        (await api.refusal(api.demo, 'subnetpools', { prefixes: ['10.0.0.0/8'], ...fields }))
          .status,
      ).toBe(403)
    const own = await pool(['10.0.0.0/8'], {}, api.admin)
    expect((await api.ask(api.demo, 'GET', `subnetpools/${idOf(own)}`)).status).toBe(404)
    const shared = await pool(['10.0.0.0/8'], { shared: true }, api.admin)
    expect((await api.ask(api.demo, 'GET', `subnetpools/${idOf(shared)}`)).status).toBe(200)
    expect((await change(idOf(shared), { name: 'mine' })).status).toBe(403)
    expect((await subnetOf({ use_default_subnetpool: true, ip_version: 4 })).status).toBe(400)

    const replies = await Promise.all(
      [1, 2, 3].map(() =>
        api.ask(api.admin, 'POST', 'subnetpools', {
          subnetpool: {
            prefixes: ['172.16.0.0/12'],
            shared: true,
            is_default: true,
            default_prefixlen: 24,
          },
        }),
      ),
    )

    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409, 409])
    expect((await change(idOf(own), { is_default: true }, api.admin)).status).toBe(409)
    await pool(['fd00::/48'], { shared: true, is_default: true }, api.admin)
    const four = await subnetOf({ use_default_subnetpool: true, ip_version: 4 })
    const six = await subnetOf({ use_default_subnetpool: true, ip_version: 6 })
    expect(four.body['subnet']).toMatchObject({ cidr: '172.16.0.0/24', gateway_ip: '172.16.0.1' })
    expect(six.body['subnet']).toMatchObject({ cidr: 'fd00::/64' })
  })
})

describe('a subnet of a pool', () => {
  test('has a prefix that no other has, of several requests for the last one, one', async () => {
    const id = idOf(await pool(['10.20.0.0/22'], { default_prefixlen: 24 }))

    const replies = await Promise.all(
      [1, 2, 3, 4, 5].map(() => subnetOf({ subnetpool_id: id, ip_version: 4 })),
    )

    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      201, 201, 201, 201, 409,
    ])
    const cidrs = replies.flatMap(({ body }) => body['subnet']?.['cidr'] ?? []).map(String)
    expect(cidrs.sort()).toEqual(['10.20.0.0/24', '10.20.1.0/24', '10.20.2.0/24', '10.20.3.0/24'])
    expect(fault(replies.find(({ status }) => status === 409)!)).toMatchObject({
      type: 'SubnetAllocationError',
      message: expect.stringContaining('Insufficient prefix space'),
    })
    expect(fault(await api.ask(api.demo, 'DELETE', `subnetpools/${id}`))).toMatchObject({
      status: 400,
      type: 'SubnetPoolDeleteError',
    })
    const [first] = await api.list(api.demo, 'subnets', `subnetpool_id=${id}&cidr=10.20.2.0/24`)
    await api.ask(api.demo, 'DELETE', `subnets/${idOf(first!)}`)
    const again = await subnetOf({ subnetpool_id: id, prefixlen: 25 })
    expect(again.body['subnet']).toMatchObject({
      cidr: '10.20.2.0/25',
      subnetpool_id: id,
      ip_version: 4,
    })
  })

  test('has the prefix or the length that it asks for', async () => {
    const id = idOf(await pool(['10.30.0.0/16'], { min_prefixlen: 20, max_prefixlen: 28 }))

    const exact = await subnetOf({ subnetpool_id: id, cidr: '10.30.7.0/24', ip_version: 4 })

    expect(exact.body['subnet']).toMatchObject({ cidr: '10.30.7.0/24', subnetpool_id: id })
    const refused = async (fields: object) =>
      fault(await subnetOf({ subnetpool_id: id, ip_version: 4, ...fields }))
    expect(await refused({ cidr: '10.30.7.0/25' })).toMatchObject({ status: 409 })
    expect(await refused({ cidr: '10.31.0.0/24' })).toMatchObject({ status: 409 })
    expect(await refused({ prefixlen: 19 })).toMatchObject({
      status: 400,
      type: 'MinPrefixSubnetAllocationError',
    })
    expect(await refused({ prefixlen: 29 })).toMatchObject({
      type: 'MaxPrefixSubnetAllocationError',
    })
    expect(await refused({ cidr: '10.30.8.0/24', prefixlen: 24 })).toMatchObject({ status: 400 })
    expect(await refused({ use_default_subnetpool: true })).toMatchObject({ status: 400 })
    expect(await refused({ subnetpool_id: randomUUID() })).toMatchObject({ status: 404 })
    expect(fault(await subnetOf({ ip_version: 4 })).message).toBe(
      'Bad subnets request: a subnetpool must be specified in the absence of a cidr.',
    )
  })

  test("counts against the project's quota in the pool", async () => {
    const fields = { default_quota: 512, default_prefixlen: 24 }
    const id = idOf(await pool(['10.40.0.0/16'], fields))

    const replies = [1, 2, 3].map(() => () => subnetOf({ subnetpool_id: id }))
    const statuses: number[] = []
    for (const ask of replies) statuses.push((await ask()).status)

    expect(statuses).toEqual([201, 201, 409])
    expect(fault(await subnetOf({ subnetpool_id: id }))).toMatchObject({ type: 'OverQuota' })
  })

  test('is with others of its pool only', async () => {
    const [one, two] = [await pool(['10.50.0.0/16']), await pool(['10.60.0.0/16'])]
    const network_id = idOf(await api.network())
    const on = (fields: object) =>
      api.ask(api.demo, 'POST', 'subnets', { subnet: { network_id, ip_version: 4, ...fields } })

    expect((await on({ subnetpool_id: idOf(one), prefixlen: 24 })).status).toBe(201)
    expect((await on({ subnetpool_id: idOf(one), prefixlen: 24 })).status).toBe(201)
    expect(fault(await on({ subnetpool_id: idOf(two), prefixlen: 24 }))).toMatchObject({
      status: 400,
      type: 'NetworkSubnetPoolAffinityError',
    })
    expect((await on({ cidr: '10.70.0.0/24' })).status).toBe(400)
  })
})
