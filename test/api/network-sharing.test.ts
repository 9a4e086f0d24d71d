import { afterAll, beforeAll, expect, test } from 'vitest'
import { planNics } from '#gateway/app/networks/plan-nics.ts'
import { idOf, type NetworkApi, networkApi } from './network-api.ts'

let api: NetworkApi

beforeAll(async () => {
  api = await networkApi()
})

afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
})

const POLICIES = 'rbac-policies'
const policy = (networkId: string, target_tenant: string, change: object = {}) => {
  return {
    object_type: 'network',
    object_id: networkId,
    action: 'access_as_shared',
    target_tenant,
    ...change,
  }
}
const share = (networkId: string, target: string, token = api.admin) =>
  api.make(token, POLICIES, policy(networkId, target))
const plan = (networkId?: string) =>
  planNics(
    api.http.gateway.networks,
    { projectId: api.demoProject, isAdmin: false },
    {
      networks: networkId === undefined ? undefined : [{ networkId }],
      securityGroups: [],
      serversMax: 1,
    },
  )
const sees = async (networkId: string) =>
  (await api.list(api.demo, 'networks', `id=${networkId}`)).map((network) => network['shared'])

test('a network is shared with one project: its lists, ports and boots have it, until the policy goes', async () => {
  const network = idOf(await api.networkWithSubnet(api.admin))
  await expect(plan(network)).rejects.toThrow('could not be found')
  expect(await sees(network)).toEqual([])

  const made = await share(network, api.demoProject)

  expect(made).toMatchObject({
    ...policy(network, api.demoProject),
    target_project: api.demoProject,
    project_id: api.adminProject,
  })
  expect(await sees(network)).toEqual([true])
  const shared = await api.list(api.demo, 'networks', 'shared=true')
  expect(shared.map(idOf)).toContain(network)
  expect(await api.list(api.demo, 'subnets', `network_id=${network}`)).toHaveLength(1)
  expect((await api.ask(api.demo, 'GET', `networks/${network}`)).body).toMatchObject({
    network: { shared: true },
  })
  expect(
    (await api.ask(api.demo, 'PUT', `networks/${network}`, { network: { name: 'x' } })).status,
  ).toBe(403)
  // The owner sees only networks that are shared with everyone as shared.
  expect((await api.ask(api.admin, 'GET', `networks/${network}`)).body).toMatchObject({
    network: { shared: false },
  })
  expect((await plan(network)).nics).toMatchObject([{ kind: 'new', network: { id: network } }])
  expect((await plan()).nics).toMatchObject([{ network: { id: network } }])
  const port = await api.make(api.demo, 'ports', { network_id: network })

  const path = `${POLICIES}/${idOf(made)}`
  const refused = await api.ask(api.admin, 'DELETE', path)
  expect(refused.status).toBe(409)
  expect(JSON.stringify(refused.body)).toContain(
    'cannot be removed because other objects depend on it',
  )
  await api.ask(api.demo, 'DELETE', `ports/${idOf(port)}`)
  expect((await api.ask(api.admin, 'DELETE', path)).status).toBe(204)
  expect(await sees(network)).toEqual([])
  await expect(plan(network)).rejects.toThrow('could not be found')
})

test('the flag `shared` of a network is its policy for every project', async () => {
  const network = idOf(await api.networkWithSubnet(api.admin, { shared: true }))
  const all = () => api.list(api.admin, POLICIES, `object_id=${network}&target_tenant=*`)
  const [everyone] = await all()
  expect(everyone).toMatchObject(policy(network, '*'))
  const port = await api.make(api.demo, 'ports', { network_id: network })
  const unshare = () =>
    api.ask(api.admin, 'PUT', `networks/${network}`, { network: { shared: false } })
  expect((await unshare()).status).toBe(409)
  // Another policy lets the project keep its port.
  const own = await share(network, api.demoProject)
  expect((await unshare()).status).toBe(200)
  expect(await all()).toEqual([])
  expect(await sees(network)).toEqual([true])

  const retarget = (target_tenant: string, token = api.admin) =>
    api.ask(token, 'PUT', `${POLICIES}/${idOf(own)}`, { rbac_policy: { target_tenant } })
  expect((await retarget('e'.repeat(32))).status).toBe(409)
  expect((await retarget('*')).status).toBe(200)
  expect((await api.ask(api.admin, 'GET', `networks/${network}`)).body).toMatchObject({
    network: { shared: true },
  })
  await api.ask(api.demo, 'DELETE', `ports/${idOf(port)}`)
  expect((await api.ask(api.admin, 'DELETE', `networks/${network}`)).status).toBe(204)
  expect(await api.list(api.admin, POLICIES, `object_id=${network}`)).toEqual([])
})

test('projects share their own networks, with one project at a time, within their quota', async () => {
  const own = idOf(await api.network(api.demo))
  const foreign = idOf(await api.network(api.admin))
  const visible = idOf(await api.network(api.admin, { shared: true }))
  const refused = (fields: object) => api.refusal(api.demo, POLICIES, fields)
  const other = 'f'.repeat(32)
  expect((await refused(policy(foreign, other))).status).toBe(404)
  expect((await refused(policy(visible, other))).status).toBe(400)
  expect((await refused(policy(own, '*'))).status).toBe(403)
  expect((await refused(policy(own, other, { action: 'access_as_external' }))).status).toBe(400)
  expect((await refused(policy(own, other, { object_type: 'qos_policy' }))).status).toBe(400)
  expect((await refused(policy(own, other, { project_id: other }))).status).toBe(403)

  const made = await share(own, other, api.demo)

  expect((await refused(policy(own, other))).status).toBe(409)
  expect((await api.list(api.demo, POLICIES)).map(idOf)).toEqual([idOf(made)])
  const used = async () => {
    const path = `quotas/${api.demoProject}/details`
    const { body } = await api.ask(api.admin, 'GET', path)
    return body['quota']?.['rbac_policy']
  }
  expect(await used()).toEqual({ limit: 10, used: 1, reserved: 0 })
  await api.ask(api.admin, 'PUT', `quotas/${api.demoProject}`, { quota: { rbac_policy: 1 } })
  expect((await refused(policy(own, 'a'.repeat(32)))).message).toContain('Quota exceeded')
  const theirs = await share(foreign, other)
  for (const method of ['GET', 'DELETE'])
    expect((await api.ask(api.demo, method, `${POLICIES}/${idOf(theirs)}`)).status).toBe(404)
  expect((await api.ask(api.demo, 'DELETE', `networks/${own}`)).status).toBe(204)
  expect(await used()).toEqual({ limit: 1, used: 0, reserved: 0 })
})
