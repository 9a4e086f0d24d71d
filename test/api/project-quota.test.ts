import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ApiClient } from '#test/env/api/client.ts'
import { createServer, untilStatus } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'

interface Quota {
  readonly project_id: string
  readonly project: string | null
  readonly resources: readonly {
    readonly service: string
    readonly resource: string
    readonly used: number
    readonly limit: number | null
    readonly left: number | null
  }[]
}

let cloud: Cloud
let admin: ApiClient
let demo: ApiClient
let project: string

beforeAll(async () => {
  cloud = await startCloud({ gateways: 1, processesPerCell: 1, hostsPerCell: 1 })
  admin = cloud.as('admin')
  demo = cloud.as('demo')
  project = await cloud.projectId('demo')
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
})

const ask = (idOrName: string, client = admin) =>
  client.get<Quota>(`/federation/v1/projects/${encodeURIComponent(idOrName)}/quota`)

/** How much of a resource is used, may be, and is left. */
async function of(service: string, resource: string) {
  const { resources } = (await ask('demo')).body
  const found = resources.find((each) => each.service === service && each.resource === resource)
  return [found?.used, found?.limit, found?.left]
}

// Goal: an operator sees the limits and the usage of a project in every service in one place.

describe('the quota of a project', () => {
  test('has every resource that is counted, of each service', async () => {
    const { status, body } = await ask('demo')

    expect(status).toBe(200)
    expect(body).toMatchObject({ project_id: project, project: 'demo' })
    const names = body.resources.map(({ service, resource }) => `${service} ${resource}`)
    expect(names).toEqual([
      'compute instances',
      'compute cores',
      'compute ram',
      'compute server_groups',
      'network floatingip',
      'network network',
      'network subnet',
      'network subnetpool',
      'network port',
      'network rbac_policy',
      'network router',
      'network security_group',
      'network security_group_rule',
      'image image_count_total',
      'image image_size_total',
    ])
    expect((await ask(project)).body).toEqual(body)
  })

  test('shows the usage and limits of every service', async () => {
    await untilStatus(demo, await createServer(cloud, demo), 'ACTIVE')
    await demo.post('/image/v2/images', { name: 'one' })

    expect(await of('compute', 'instances')).toEqual([1, 10, 9])
    expect(await of('compute', 'ram')).toEqual([128, 51_200, 51_072])
    expect(await of('network', 'port')).toEqual([1, 500, 499])
    expect((await of('image', 'image_count_total'))[0]).toBe(1)
  })

  test('has no limit where there is none, and nothing left where more is used than the limit', async () => {
    const network = { port: -1, network: 0 }
    await admin.put(`/networking/v2.0/quotas/${project}`, { quota: network })
    const quota_set = { instances: 0, server_groups: -1, force: true }
    await admin.put(`/compute/v2.1/os-quota-sets/${project}`, { quota_set })

    expect(await of('network', 'port')).toEqual([1, null, null])
    expect(await of('compute', 'server_groups')).toEqual([0, null, null])
    expect(await of('compute', 'instances')).toEqual([1, 0, 0])
  })

  test.each(['none', 'f'.repeat(32), 'Bücher', 'a/b', '%'])('is of no project %s', async (name) => {
    expect(await ask(name)).toMatchObject({
      status: 404,
      body: { detail: `There is no project with the id or name ${name}.` },
    })
  })

  test('of a name that two domains have is asked for by id', async () => {
    const domain = { name: 'elsewhere' }
    const made = await admin.post<{ domain: { id: string } }>('/identity/v3/domains', { domain })
    const namesake = { name: 'demo', domain_id: made.body.domain.id }
    await admin.post('/identity/v3/projects', { project: namesake })

    expect((await ask('demo')).status).toBe(409)
    expect((await ask(project)).body.project).toBe('demo')
  })

  test('is the operators’ alone', async () => {
    expect((await ask('demo', demo)).status).toBe(403)
  })
})
