import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listOf, textOf } from './json.ts'
import { idOf, type NetworkApi, networkApi } from './network-api.ts'

let api: NetworkApi

beforeAll(async () => {
  api = await networkApi()
})

afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
})

describe('another project', () => {
  test.each([
    ['networks', 'network'],
    ['subnets', 'subnet'],
    ['ports', 'port'],
    ['security-groups', 'security_group'],
    ['security-group-rules', 'security_group_rule'],
  ])('finds none of the private %s', async (collection, key) => {
    const made = await api.network(api.admin)
    const onIt = await api.subnet(idOf(made), api.admin)
    const port = await api.make(api.admin, 'ports', { network_id: idOf(made) })
    const group = await api.make(api.admin, 'security-groups', { name: 'x' })
    const [rule] = listOf(group['security_group_rules'])
    const ids: Readonly<Record<string, string>> = {
      networks: idOf(made),
      subnets: idOf(onIt),
      ports: idOf(port),
      'security-groups': idOf(group),
      'security-group-rules': idOf(rule!),
    }
    const path = `${collection}/${ids[collection]}`

    expect((await api.ask(api.demo, 'GET', path)).status).toBe(404)
    expect((await api.ask(api.demo, 'DELETE', path)).status).toBe(404)
    if (key !== 'security_group_rule') {
      expect((await api.ask(api.demo, 'PUT', path, { [key]: { name: 'mine' } })).status).toBe(404)
      for (const method of ['GET', 'PUT', 'DELETE'])
        for (const tags of [`${path}/tags`, `${path}/tags/mine`]) {
          const body = method === 'PUT' && tags.endsWith('tags') ? { tags: ['mine'] } : undefined
          expect((await api.ask(api.demo, method, tags, body)).status, tags).toBe(404)
        }
    }
    expect(await api.list(api.demo, collection, `id=${ids[collection]}`)).toEqual([])
    await api.ask(api.admin, 'DELETE', `security-groups/${idOf(group)}`)
  })

  test('cannot put things on a private network, or use a private group', async () => {
    const made = await api.networkWithSubnet(api.admin)
    const group = await api.make(api.admin, 'security-groups', { name: 'y' })
    const own = await api.networkWithSubnet()
    const network_id = idOf(made)
    const subnetDraft = { network_id, ip_version: 4, cidr: '10.220.0.0/24' }
    const portDraft = { network_id: idOf(own), security_groups: [idOf(group)] }
    const ruleDraft = { security_group_id: idOf(group), direction: 'ingress' }

    expect((await api.refusal(api.demo, 'subnets', subnetDraft)).status).toBe(404)
    expect((await api.refusal(api.demo, 'ports', { network_id })).status).toBe(404)
    expect((await api.refusal(api.demo, 'ports', portDraft)).status).toBe(404)
    expect((await api.refusal(api.demo, 'security-group-rules', ruleDraft)).status).toBe(404)
  })

  test('uses a shared network, and may not change it or choose addresses on it', async () => {
    const made = await api.networkWithSubnet(api.admin, { shared: true })
    const network_id = idOf(made)
    const [onIt] = await api.list(api.demo, 'subnets', `network_id=${network_id}`)
    const chosen = { network_id, fixed_ips: [{ ip_address: textOf(onIt?.['gateway_ip']) }] }

    const port = await api.make(api.demo, 'ports', { network_id })

    expect(port['project_id']).toBe(api.demoProject)
    expect((await api.refusal(api.demo, 'ports', chosen)).status).toBe(403)
    const more = (ip: object) =>
      api.ask(api.demo, 'PUT', `ports/${idOf(port)}`, {
        port: { fixed_ips: [...listOf(port['fixed_ips']), ip] },
      })
    expect((await more({ subnet_id: idOf(onIt!) })).status).toBe(200)
    expect((await more(chosen.fixed_ips[0]!)).status).toBe(403)
    const rename = await api.ask(api.demo, 'PUT', `networks/${network_id}`, {
      network: { name: 'mine' },
    })
    expect(rename.status).toBe(403)
    const tag = await api.ask(api.demo, 'PUT', `networks/${network_id}/tags/mine`)
    expect(tag.status).toBe(403)
    expect((await api.ask(api.demo, 'DELETE', `subnets/${idOf(onIt!)}`)).status).toBe(403)
  })
})
