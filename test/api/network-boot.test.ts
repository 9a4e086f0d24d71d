import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { networksReach } from '#gateway/app/networks/cells-reaching.ts'
import type { RequestedNetworks } from '#gateway/app/networks/nic-request.ts'
import { nicSpecs, serverAddresses } from '#gateway/app/networks/nic-views.ts'
import { planNics } from '#gateway/app/networks/plan-nics.ts'
import { allocatePorts, releasePorts, serverNics } from '#gateway/app/networks/server-ports.ts'
import { idOf, type NetworkApi, networkApi } from './network-api.ts'

let api: NetworkApi

beforeAll(async () => {
  api = await networkApi()
})

afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
})

describe('a boot', () => {
  const now = new Date()

  async function freshProject(): Promise<{ projectId: string; isAdmin: boolean }> {
    return { projectId: randomUUID().replaceAll('-', ''), isAdmin: false }
  }

  const plan = (
    requester: { projectId: string; isAdmin: boolean },
    networks: RequestedNetworks,
    more: { securityGroups?: readonly string[]; serversMax?: number } = {},
  ) =>
    planNics(api.http.gateway.networks, requester, {
      networks,
      securityGroups: [],
      serversMax: 1,
      ...more,
    })

  const demoUser = () => ({ projectId: api.demoProject, isAdmin: false })

  test('gets a port per network, which go with the server, and a user port, which stays', async () => {
    const { db } = api.http.gateway
    const first = await api.networkWithSubnet(api.demo, { name: 'first' })
    const second = await api.networkWithSubnet(api.demo, { name: 'second' })
    const userPort = await api.make(api.demo, 'ports', { network_id: idOf(second) })
    const serverId = randomUUID()
    const decided = await plan(demoUser(), [
      { networkId: idOf(first), tag: 'front' },
      { portId: idOf(userPort) },
    ])

    const nics = await db.transaction((tx) =>
      allocatePorts(tx, { serverId, zone: 'nova', nicsBefore: 0, now }, decided),
    )
    const bound = await api.list(api.admin, 'ports', `device_id=${serverId}`)
    const taken = plan(demoUser(), [{ portId: idOf(userPort) }])
    await expect(taken).rejects.toThrow(`Port ${idOf(userPort)} is still in use.`)
    const read = await serverNics(db, serverId)

    expect(bound).toHaveLength(2)
    for (const port of bound) expect(port['device_owner']).toBe('compute:nova')
    expect(nicSpecs(read)).toEqual(nicSpecs(nics))
    expect(nicSpecs(nics)[0]).toMatchObject({
      networkId: idOf(first),
      mtu: 1500,
      fixedIps: [{ dhcp: true, gateway: expect.any(String), dnsServers: [] }],
    })
    expect(serverAddresses(nics)).toEqual({
      first: [
        {
          version: 4,
          addr: nics[0]?.port.fixedIps[0]?.address,
          'OS-EXT-IPS:type': 'fixed',
          'OS-EXT-IPS-MAC:mac_addr': nics[0]?.port.macAddress,
        },
      ],
      second: [expect.objectContaining({ 'OS-EXT-IPS-MAC:mac_addr': userPort['mac_address'] })],
    })

    await db.transaction((tx) => releasePorts(tx, [serverId], now))
    await db.transaction((tx) => releasePorts(tx, [serverId], now))

    expect(await api.list(api.admin, 'ports', `device_id=${serverId}`)).toEqual([])
    const kept = await api.ask(api.demo, 'GET', `ports/${idOf(userPort)}`)
    expect(kept.body['port']).toMatchObject({ device_id: '', device_owner: '', status: 'DOWN' })
  })

  test('does not attach a port that merely names its server as its device', async () => {
    const { db } = api.http.gateway
    const own = await api.networkWithSubnet(api.demo)
    const shared = await api.networkWithSubnet(api.admin, { shared: true })
    const serverId = randomUUID()
    const decided = await plan(demoUser(), [{ networkId: idOf(own) }])
    await db.transaction((tx) =>
      allocatePorts(tx, { serverId, zone: 'nova', nicsBefore: 0, now }, decided),
    )
    const device = { network_id: idOf(shared), device_id: serverId }

    const stranger = await api.make(api.demo, 'ports', device)

    expect(await serverNics(db, serverId)).toHaveLength(1)
    await db.transaction((tx) => releasePorts(tx, [serverId], now))
    const kept = await api.ask(api.demo, 'GET', `ports/${idOf(stranger)}`)
    expect(kept.body['port']).toMatchObject({ device_id: serverId, revision_number: 1 })
  })

  test('keeps its ports when their owner changes their device', async () => {
    const { db } = api.http.gateway
    const own = await api.networkWithSubnet()
    const serverId = randomUUID()
    const decided = await plan(demoUser(), [{ networkId: idOf(own) }])
    const [nic] = await db.transaction((tx) =>
      allocatePorts(tx, { serverId, zone: 'nova', nicsBefore: 0, now }, decided),
    )
    const path = `ports/${nic!.port.id}`

    for (const fields of [{ device_owner: '' }, { device_id: '' }, { device_id: randomUUID() }]) {
      const { status } = await api.ask(api.demo, 'PUT', path, { port: fields })
      expect(status).toBe(409)
    }
    const same = { name: 'mine', device_id: serverId }
    expect((await api.ask(api.demo, 'PUT', path, { port: same })).status).toBe(200)
    expect((await api.ask(api.demo, 'DELETE', path)).status).toBe(409)
    expect(await serverNics(db, serverId)).toHaveLength(1)
  })

  test('of two that want one port is had by one', async () => {
    const { db } = api.http.gateway
    const made = await api.networkWithSubnet()
    const port = await api.make(api.demo, 'ports', { network_id: idOf(made) })
    const decided = await plan(demoUser(), [{ portId: idOf(port) }])

    const results = await Promise.allSettled(
      [randomUUID(), randomUUID()].map((serverId) =>
        db.transaction((tx) =>
          allocatePorts(tx, { serverId, zone: '', nicsBefore: 0, now }, decided),
        ),
      ),
    )

    expect(results.map((result) => result.status).sort()).toEqual(['fulfilled', 'rejected'])
  })

  test('without a choice takes the only network, or no network if there is none, and refuses to guess', async () => {
    // Networks shared by other tests would be choices too.
    for (const shared of await api.list(api.admin, 'networks', 'shared=true')) {
      const ports = await api.list(api.admin, 'ports', `network_id=${idOf(shared)}`)
      for (const port of ports) await api.ask(api.admin, 'DELETE', `ports/${idOf(port)}`)
      await api.ask(api.admin, 'DELETE', `networks/${idOf(shared)}`)
    }
    const requester = await freshProject()
    const owned = { project_id: requester.projectId }

    expect((await plan(requester, undefined)).nics).toEqual([])
    await expect(plan(requester, 'auto')).rejects.toThrow('Unable to automatically allocate')
    const only = await api.network(api.admin, owned)
    await expect(plan(requester, undefined)).rejects.toThrow('requires a subnet')
    await api.subnet(idOf(only), api.admin)
    expect((await plan(requester, 'auto')).nics).toMatchObject([{ network: { id: idOf(only) } }])
    expect((await plan(requester, 'none')).nics).toEqual([])
    await api.network(api.admin, owned)
    await expect(plan(requester, undefined)).rejects.toThrow('Multiple possible networks')
  })

  test("is refused in Nova's words", async () => {
    const foreign = await api.networkWithSubnet(api.admin)
    const foreignPort = await api.make(api.admin, 'ports', { network_id: idOf(foreign) })
    const own = await api.networkWithSubnet()
    await api.connectOvn()
    const external = await api.networkWithSubnet(api.admin, { 'router:external': true })
    const bare = await api.make(api.demo, 'ports', { network_id: idOf(own), fixed_ips: [] })
    const missing = randomUUID()
    const refused = async (networks: RequestedNetworks, kind: string, text: string, more = {}) =>
      expect(plan(demoUser(), networks, more)).rejects.toMatchObject({
        kind,
        message: expect.stringContaining(text),
      })

    await refused([{ networkId: missing }], 'invalid', `Network ${missing} could not be found.`)
    await refused([{ networkId: 'nonsense' }], 'invalid', 'could not be found')
    await refused([{ networkId: idOf(foreign) }], 'invalid', 'could not be found')
    await refused([{ portId: idOf(foreignPort) }], 'invalid', 'could not be found')
    await refused([{ portId: idOf(bare) }], 'invalid', 'requires a FixedIP')
    await refused([{ networkId: idOf(external) }], 'forbidden', 'external network')
    await refused(
      [{ networkId: idOf(own), fixedIp: '203.0.113.9' }],
      'invalid',
      'not a valid ip address',
    )
    await refused([{ networkId: idOf(own), fixedIp: '10.1.2.3' }], 'invalid', 'fixed_ip', {
      serversMax: 2,
    })
    await refused([{ portId: idOf(bare) }], 'invalid', 'multiple instances', { serversMax: 2 })
    await refused([{ networkId: idOf(own) }], 'invalid', "'nope'", { securityGroups: ['nope'] })
  })

  test('reaches the cells where all its networks have a segment', async () => {
    const [one, two] = [randomUUID(), randomUUID()]
    const everywhere = await api.networkWithSubnet(api.admin)
    const somewhere = await api.networkWithSubnet(api.admin, { 'weir:cells': [one] })
    const requester = { projectId: api.adminProject, isAdmin: true }

    const { nics } = await plan(requester, [
      { networkId: idOf(everywhere) },
      { networkId: idOf(somewhere) },
    ])

    const networks = nics.map(({ network }) => network)
    expect(networksReach(networks, one)).toBe(true)
    expect(networksReach(networks, two)).toBe(false)
    expect(networksReach(networks.slice(0, 1), two)).toBe(true)
  })

  test('fails with the numbers when the port quota is used up, and leaves nothing', async () => {
    const requester = await freshProject()
    const made = await api.network(api.admin, { project_id: requester.projectId })
    await api.subnet(idOf(made), api.admin)
    await api.ask(api.admin, 'PUT', `quotas/${requester.projectId}`, { quota: { port: 1 } })
    const decided = await plan(requester, [{ networkId: idOf(made) }, { networkId: idOf(made) }])
    const serverId = randomUUID()

    const boot = api.http.gateway.db.transaction((tx) =>
      allocatePorts(tx, { serverId, zone: '', nicsBefore: 0, now }, decided),
    )

    await expect(boot).rejects.toMatchObject({ kind: 'over-quota' })
    expect(await api.list(api.admin, 'ports', `device_id=${serverId}`)).toEqual([])
  })
})
