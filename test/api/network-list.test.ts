import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Reply } from './identity-world.ts'
import { listOf, textOf } from './json.ts'
import { idOf, type NetworkApi, networkApi } from './network-api.ts'

let api: NetworkApi

beforeAll(async () => {
  api = await networkApi()
})

afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
})

const relsOf = (page: Reply) => listOf(page.body['networks_links']).map(({ rel }) => rel)

describe('a list', () => {
  test('is filtered by any of several values, sorted, cut to fields and paged with links', async () => {
    const name = `net-${randomBytes(4).toString('hex')}`
    const ids = await Promise.all(
      [1, 2, 3].map(async () => idOf(await api.network(api.demo, { name }))),
    )

    const some = await api.list(
      api.demo,
      'networks',
      `id=${ids[0]}&id=${ids[2]}&fields=id&fields=name`,
    )
    const firstPage = await api.ask(
      api.demo,
      'GET',
      `networks?name=${name}&limit=2&sort_key=name&sort_dir=desc`,
    )
    const [link] = listOf(firstPage.body['networks_links'])
    const href = textOf(link?.['href']).replace('http://cloud.test:8774', '')
    const secondPage = await api.http.ask('GET', href, { token: api.demo })

    expect(some).toHaveLength(2)
    expect(some[0]).toEqual({ id: expect.any(String), name })
    const seen = [firstPage, secondPage].flatMap((page) => listOf(page.body['networks']))
    expect(new Set(seen.map(idOf))).toEqual(new Set(ids))
    expect(relsOf(firstPage)).toEqual(['next'])
    expect(relsOf(secondPage)).toEqual(['previous'])
  })

  test.each(['constructor', 'valueOf', '__proto__', 'hasOwnProperty'])(
    'is neither filtered nor sorted by %s, which every object has',
    async (name) => {
      for (const plural of [
        'networks',
        'subnets',
        'ports',
        'security-groups',
        'security-group-rules',
      ])
        for (const query of [`${name}=1`, `sort_key=${name}`])
          expect((await api.ask(api.demo, 'GET', `${plural}?${query}`)).status, query).toBe(400)
    },
  )

  test('is read backwards, from its end or from a marker', async () => {
    const name = `back-${randomBytes(4).toString('hex')}`
    for (const letter of ['a', 'b', 'c', 'd', 'e'])
      await api.network(api.demo, { name, description: letter })
    const read = async (query: string) => {
      const path = `networks?name=${name}&sort_key=description&limit=2${query}`
      const reply = await api.ask(api.demo, 'GET', path)
      const items = listOf(reply.body['networks'])
      return { reply, items, letters: items.map((item) => item['description']) }
    }

    const last = await read('&page_reverse=True')
    expect(last.letters).toEqual(['d', 'e'])
    expect(relsOf(last.reply)).toEqual(['previous'])
    const middle = await read(`&page_reverse=True&marker=${idOf(last.items[0]!)}`)
    expect(middle.letters).toEqual(['b', 'c'])
    expect(relsOf(middle.reply)).toEqual(['next', 'previous'])
    const first = await read(`&page_reverse=True&marker=${idOf(middle.items[0]!)}`)
    expect(first.letters).toEqual(['a'])
    expect(relsOf(first.reply)).toEqual(['next'])
    expect((await read(`&marker=${idOf(first.items[0]!)}`)).letters).toEqual(['b', 'c'])
  })

  test.each([
    'networks?secret=1',
    'networks?limit=x',
    'networks?marker=nothing',
    'networks?sort_key=secret',
    'networks?sort_key=name&sort_dir=up',
    'networks?shared=perhaps',
    'networks?page_reverse=perhaps',
    'ports?fixed_ips=nonsense',
  ])('%s is refused', async (path) => {
    expect((await api.ask(api.demo, 'GET', path)).status).toBe(400)
  })

  test('of ports finds them by device, address, subnet and group', async () => {
    const made = await api.network()
    const onIt = await api.subnet(idOf(made))
    const port = await api.make(api.demo, 'ports', {
      network_id: idOf(made),
      device_id: 'my-device',
    })
    const [fixedIp] = listOf(port['fixed_ips'])
    const [group] = port['security_groups'] as unknown as readonly string[]

    for (const query of [
      'device_id=my-device',
      `fixed_ips=ip_address=${textOf(fixedIp?.['ip_address'])}`,
      `fixed_ips=subnet_id=${idOf(onIt)}`,
      `fixed_ips=ip_address_substr=${textOf(fixedIp?.['ip_address']).slice(1)}&network_id=${idOf(made)}`,
      `security_groups=${group}&network_id=${idOf(made)}`,
      `mac_address=${textOf(port['mac_address']).toUpperCase()}`,
    ])
      expect((await api.list(api.demo, 'ports', query)).map(idOf), query).toEqual([idOf(port)])
  })
})
