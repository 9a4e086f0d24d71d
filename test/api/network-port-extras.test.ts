import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Json } from './identity-world.ts'
import { textOf } from './json.ts'
import { idOf, type NetworkApi, networkApi } from './network-api.ts'

let api: NetworkApi

beforeAll(async () => {
  api = await networkApi()
})

afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
})

const port = (network_id: string, fields: object = {}): Promise<Json> =>
  api.make(api.demo, 'ports', { network_id, ...fields })
const change = async (id: string, fields: object) => {
  const { status, body } = await api.ask(api.demo, 'PUT', `ports/${id}`, { port: fields })
  return status === 200 ? body['port']! : { status, message: body['NeutronError']?.['message'] }
}
const pairs = (...addresses: readonly string[]) => ({
  allowed_address_pairs: addresses.map((ip_address) => ({ ip_address })),
})
const slaac = { ip_version: 6, ipv6_ra_mode: 'slaac', ipv6_address_mode: 'slaac' }

// First, because no cell has the engine yet.
test('attributes that need the network engine are refused without it', async () => {
  const network_id = idOf(await api.networkWithSubnet())
  const fields = [
    pairs('10.0.0.9'),
    { extra_dhcp_opts: [{ opt_name: 'mtu', opt_value: '1400' }] },
    { dns_name: 'web' },
  ]
  for (const each of fields)
    expect(await api.refusal(api.demo, 'ports', { network_id, ...each })).toMatchObject({
      status: 501,
    })
  expect(
    await api.refusal(api.demo, 'subnets', { network_id, cidr: '2001:db8::/64', ...slaac }),
  ).toMatchObject({ status: 501 })
  expect(await api.refusal(api.demo, 'networks', { dns_domain: 'a.test' })).toMatchObject({
    status: 501,
  })
  const plain = await port(network_id, {
    allowed_address_pairs: [],
    extra_dhcp_opts: [],
    dns_name: '',
  })
  expect(plain).toMatchObject({ allowed_address_pairs: [], extra_dhcp_opts: [], dns_name: '' })
  await api.connectOvn()
})

describe('allowed address pairs', () => {
  test('are kept in canonical spelling, by default with the MAC of the port', async () => {
    const network_id = idOf(await api.networkWithSubnet())
    const mac_address = 'FA:16:3E:00:00:01'

    const made = await port(network_id, {
      allowed_address_pairs: [
        { ip_address: '10.9.8.7/24' },
        { ip_address: '2001:DB8::0:1', mac_address },
      ],
    })

    expect(made['allowed_address_pairs']).toEqual([
      { ip_address: '10.9.8.0/24', mac_address: made['mac_address'] },
      { ip_address: '2001:db8::1', mac_address: mac_address.toLowerCase() },
    ])
    expect(await change(idOf(made), { allowed_address_pairs: [] })).toMatchObject({
      allowed_address_pairs: [],
    })
  })

  test("are refused in Neutron's words", async () => {
    const network_id = idOf(await api.networkWithSubnet())
    const shared = idOf(await api.networkWithSubnet(api.admin, { shared: true }))
    const refused = (fields: object, network = network_id) =>
      api.refusal(api.demo, 'ports', { network_id: network, ...fields })
    const many = Array.from({ length: 11 }, (_, n) => `10.0.0.${n}`)

    expect((await refused(pairs('10.0.0.1', '10.0.0.1'))).message).toContain(
      'duplicate address pair',
    )
    expect((await refused(pairs(...many))).message).toContain('exceeds the maximum 10')
    for (const bad of ['x', '10.0.0.0/33', '10.0.0.0/x', '1/2/3'])
      expect((await refused(pairs(bad))).status).toBe(400)
    expect(await refused({ ...pairs('10.0.0.1'), port_security_enabled: false })).toEqual({
      status: 409,
      message: 'Port Security must be enabled in order to have allowed address pairs on a port.',
    })
    expect((await refused(pairs('10.0.0.1'), shared)).status).toBe(403)
    const made = await port(network_id, pairs('10.0.0.1'))
    expect(
      await change(idOf(made), { port_security_enabled: false, security_groups: [] }),
    ).toMatchObject({ status: 409 })
  })
})

test('DHCP options are set and taken away one by one', async () => {
  const network_id = idOf(await api.networkWithSubnet())
  const made = await port(network_id, {
    extra_dhcp_opts: [
      { opt_name: 'mtu', opt_value: '1400' },
      { opt_name: 'dns-server', opt_value: '2001:db8::53', ip_version: 6 },
    ],
  })

  const changed = await change(idOf(made), {
    extra_dhcp_opts: [
      { opt_name: 'mtu', opt_value: null },
      { opt_name: 'domain-name', opt_value: 'a.test' },
    ],
  })

  expect(made['extra_dhcp_opts']).toHaveLength(2)
  expect(changed).toMatchObject({
    extra_dhcp_opts: [
      { opt_name: 'dns-server', opt_value: '2001:db8::53', ip_version: 6 },
      { opt_name: 'domain-name', opt_value: 'a.test', ip_version: 4 },
    ],
  })
})

test('a port is answered by its name, in the domain of its network', async () => {
  const network_id = idOf(await api.networkWithSubnet(api.demo, { dns_domain: 'Lab.test.' }))
  const made = await port(network_id, { dns_name: 'Web' })
  const [{ ip_address }] = made['fixed_ips'] as unknown as [{ ip_address: string }]

  expect(made).toMatchObject({
    dns_name: 'web',
    dns_assignment: [{ ip_address, hostname: 'web', fqdn: 'web.lab.test.' }],
  })
  const elsewhere = await port(idOf(await api.networkWithSubnet()), { dns_name: 'web' })
  expect(elsewhere['dns_assignment']).toMatchObject([{ fqdn: 'web.openstacklocal.' }])
  expect(await port(network_id)).toMatchObject({ dns_name: '', dns_assignment: [] })
  const network = await api.ask(api.demo, 'GET', `networks/${network_id}`)
  expect(network.body['network']).toMatchObject({ dns_domain: 'lab.test.' })
  expect((await api.refusal(api.demo, 'ports', { network_id, dns_name: 'a_b' })).status).toBe(400)
  expect((await api.refusal(api.demo, 'networks', { dns_domain: 'a b' })).status).toBe(400)
})

describe('an IPv6 subnet', () => {
  test('of SLAAC gives ports the address their guests make of the MAC, also beside others', async () => {
    const network_id = idOf(await api.network())
    const four = idOf(await api.subnet(network_id))
    const six = await api.subnet(network_id, api.demo, { cidr: '2001:db8:7::/64', ...slaac })
    const stateless = {
      ip_version: 6,
      ipv6_ra_mode: 'dhcpv6-stateless',
      ipv6_address_mode: 'dhcpv6-stateless',
    }
    const other = await api.subnet(network_id, api.demo, { cidr: '2001:db8:8::/64', ...stateless })

    const made = await port(network_id, { mac_address: 'fa:16:3e:01:02:03' })
    const only = await port(network_id, { fixed_ips: [{ subnet_id: idOf(six) }] })

    expect(six).toMatchObject({ ipv6_ra_mode: 'slaac', ipv6_address_mode: 'slaac' })
    expect(made['fixed_ips']).toHaveLength(3)
    expect(made['fixed_ips']).toEqual(
      expect.arrayContaining([
        { subnet_id: four, ip_address: expect.any(String) },
        { subnet_id: idOf(six), ip_address: '2001:db8:7:0:f816:3eff:fe01:203' },
        { subnet_id: idOf(other), ip_address: '2001:db8:8:0:f816:3eff:fe01:203' },
      ]),
    )
    const tail = textOf(only['mac_address']).split(':').slice(-1)[0]!
    expect(only['fixed_ips']).toEqual([
      { subnet_id: idOf(six), ip_address: expect.stringMatching(`${tail.replace(/^0/, '')}$`) },
    ])
    const chosen = [{ subnet_id: idOf(six), ip_address: '2001:db8:7::9' }]
    expect(
      (await api.refusal(api.demo, 'ports', { network_id, fixed_ips: chosen })).message,
    ).toContain('configured for automatic addresses')
    const listed = await api.list(
      api.demo,
      'subnets',
      `network_id=${network_id}&ipv6_ra_mode=slaac`,
    )
    expect(listed.map(idOf)).toEqual([idOf(six)])
  })

  test('that is added gives existing ports its addresses, and removes these with itself', async () => {
    const network_id = idOf(await api.networkWithSubnet())
    const before = await port(network_id, { mac_address: 'fa:16:3e:0a:0b:0c' })
    const addresses = async () => {
      const { body } = await api.ask(api.demo, 'GET', `ports/${idOf(before)}`)
      return (body['port']!['fixed_ips'] as unknown as { ip_address: string }[]).length
    }

    const six = await api.subnet(network_id, api.demo, { cidr: '2001:db8:c::/64', ...slaac })

    expect(await api.list(api.demo, 'ports', `network_id=${network_id}`)).toMatchObject([
      {
        fixed_ips: expect.arrayContaining([
          { subnet_id: idOf(six), ip_address: '2001:db8:c:0:f816:3eff:fe0a:b0c' },
        ]),
      },
    ])
    expect(await addresses()).toBe(2)
    const router = idOf(await api.make(api.demo, 'routers', {}))
    const on = { subnet_id: idOf(six) }
    await api.ask(api.demo, 'PUT', `routers/${router}/add_router_interface`, on)
    expect((await api.ask(api.demo, 'DELETE', `subnets/${idOf(six)}`)).status).toBe(409)
    await api.ask(api.demo, 'PUT', `routers/${router}/remove_router_interface`, on)
    expect((await api.ask(api.demo, 'DELETE', `subnets/${idOf(six)}`)).status).toBe(204)
    expect(await addresses()).toBe(1)
  })

  test('of DHCPv6 gives ports an address of its pools', async () => {
    const network_id = idOf(await api.network())
    const mode = { ipv6_ra_mode: 'dhcpv6-stateful', ipv6_address_mode: 'dhcpv6-stateful' }
    const pool = [{ start: '2001:db8:9::10', end: '2001:db8:9::11' }]
    await api.subnet(network_id, api.demo, {
      cidr: '2001:db8:9::/64',
      ip_version: 6,
      allocation_pools: pool,
      ...mode,
    })

    const made = await port(network_id)

    expect(made['fixed_ips']).toMatchObject([
      { ip_address: expect.stringMatching(/^2001:db8:9::1[01]$/) },
    ])
  })

  test.each([
    [{ ...slaac, ip_version: 4, cidr: '10.250.0.0/24' }, 'not valid when ip_version is 4'],
    [{ ...slaac, enable_dhcp: false }, 'cannot be set when enable_dhcp'],
    [{ ...slaac, ipv6_ra_mode: 'dhcpv6-stateful' }, 'must be the same value'],
    [{ ...slaac, cidr: '2001:db8:a::/80' }, 'prefix must be /64'],
    [{ ...slaac, ipv6_ra_mode: 'other' }, 'ipv6_ra_mode'],
  ])('is refused as %j', async (fields, message) => {
    const network_id = idOf(await api.network())
    expect(
      await api.refusal(api.demo, 'subnets', { network_id, cidr: '2001:db8:a::/64', ...fields }),
    ).toEqual({ status: 400, message: expect.stringContaining(message) })
  })

  test('whose prefix another router announces is not put on a router', async () => {
    const network_id = idOf(await api.network())
    const six = await api.subnet(network_id, api.demo, {
      cidr: '2001:db8:b::/64',
      ip_version: 6,
      ipv6_address_mode: 'slaac',
    })
    const router = idOf(await api.make(api.demo, 'routers', {}))

    const refused = await api.ask(api.demo, 'PUT', `routers/${router}/add_router_interface`, {
      subnet_id: idOf(six),
    })

    expect(refused.status).toBe(400)
    expect(refused.body['NeutronError']?.['message']).toContain('RAs from an external router')
  })
})
