import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Loose } from '#test/env/api/client.ts'
import { activeServer } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { type ComputeApi, computeApi } from '#test/env/compute-api.ts'
import { storesReported } from '#test/env/stores-reported.ts'

// Goal: the metrics show the quotas of projects, the volumes and the stores that the APIs show, by openstack-exporter's names.

const owned = new AsyncDisposableStack()
let cloud: Cloud
let project: string

beforeAll(async () => {
  cloud = owned.use(await startCloud({ gateways: 1, cells: 1, processesPerCell: 1 }))
  project = await cloud.projectId('demo')
  await storesReported(cloud)
  const [admin, demo] = [cloud.as('admin'), cloud.as('demo')]
  const ofCompute = { quota_set: { cores: 30, instances: -1, server_groups: 4 } }
  await admin.put(`/compute/v2.1/os-quota-sets/${project}`, ofCompute)
  await admin.put(`/networking/v2.0/quotas/${project}`, { quota: { network: 7, port: -1 } })
  await admin.put(`/volume/v3/os-quota-sets/${project}`, { quota_set: { gigabytes: 50 } })
  await activeServer(cloud, demo)
  const group = { name: 'apart', policies: ['anti-affinity'] }
  await demo.post('/compute/v2.1/os-server-groups', { server_group: group })
  await demo.post('/volume/v3/volumes', { volume: { size: 3, name: 'data' } })
})

afterAll(() => owned.disposeAsync())

/** Name and labels, without those of the project, -> value; once this one is there. */
async function figures(untilThere: string): Promise<Readonly<Record<string, number>>> {
  let found: Record<string, number> = {}
  await expect
    .poll(async () => {
      const text = (await cloud.metrics('/federation'))
        .replaceAll(`tenant="demo",tenant_id="${project}"`, '')
        .replaceAll(',}', '}')
      const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
      found = Object.fromEntries(
        lines.map((line) => {
          const at = line.lastIndexOf(' ')
          return [line.slice(0, at).replace('{}', ''), Number(line.slice(at + 1))]
        }),
      )
      return Object.hasOwn(found, untilThere)
    })
    .toBe(true)
  return found
}

const quota = (name: string, type: string) => `openstack_${name}{type="${type}"}`

test('quotas of projects have the limits and the use that the APIs show', async () => {
  const found = await figures('openstack_cinder_volume_status_counter{status="available"}')
  expect(found).toMatchObject({
    openstack_nova_limits_vcpus_max: 30,
    openstack_nova_limits_vcpus_used: 1,
    openstack_nova_limits_instances_max: -1,
    openstack_cinder_limits_volume_max_gb: 50,
    openstack_cinder_limits_volume_used_gb: 3,
    [quota('nova_quota_cores', 'limit')]: 30,
    [quota('nova_quota_cores', 'in_use')]: 1,
    [quota('nova_quota_cores', 'reserved')]: 0,
    [quota('nova_quota_instances', 'limit')]: -1,
    [quota('nova_quota_instances', 'in_use')]: 1,
    [quota('nova_quota_server_groups', 'limit')]: 4,
    [quota('nova_quota_server_groups', 'in_use')]: 1,
    [quota('neutron_quota_network', 'limit')]: 7,
    [quota('neutron_quota_port', 'limit')]: -1,
    [quota('neutron_quota_router', 'limit')]: 10,
  })
  const path = `/networking/v2.0/quotas/${project}/details`
  const { body } = await cloud.as('admin').get<Loose>(path)
  const details = body['quota'] as Readonly<Record<string, { used: number; limit: number }>>
  for (const [name, { used, limit }] of Object.entries(details)) {
    expect(found[quota(`neutron_quota_${name}`, 'used')], name).toBe(used)
    expect(found[quota(`neutron_quota_${name}`, 'limit')], name).toBe(limit)
  }
})

test('volumes and the stores of cells have the figures that Block Storage shows', async () => {
  const found = await figures('openstack_cinder_volume_status_counter{status="available"}')
  const path = '/volume/v3/scheduler-stats/get_pools?detail=true'
  const { body } = await cloud.as('admin').get<{
    pools: readonly { name: string; capabilities: Readonly<Record<string, number | string>> }[]
  }>(path)
  expect(body.pools.length).toBeGreaterThan(0)
  for (const { name, capabilities: pool } of body.pools) {
    const labels = `{name="${name}",volume_backend_name="${pool['volume_backend_name']}",vendor_name=""}`
    expect(found[`openstack_cinder_pool_capacity_total_gb${labels}`]).toBe(
      pool['total_capacity_gb'],
    )
    expect(found[`openstack_cinder_pool_capacity_free_gb${labels}`]).toBe(pool['free_capacity_gb'])
  }
  expect(found).toMatchObject({
    openstack_cinder_up: 1,
    openstack_cinder_volumes: 1,
    openstack_cinder_snapshots: 0,
    'openstack_cinder_volume_status_counter{status="available"}': 1,
    [`openstack_cinder_agent_state{uuid="${cloud.cells[0]!.id}",hostname="north",service="cinder-scheduler",adminState="enabled",zone="internal",disabledReason=""}`]: 1,
  })
})

test('objects in a store that its cell does not know are counted, by cell and store', async () => {
  const api: ComputeApi = owned.use(await computeApi('unknown_objects', ['north']))
  const [cell] = api.cells
  const store = {
    ...{ id: 'local', name: 'local', engine: 'pool', zones: ['north'], multiattach: false },
    ...{ totalGb: 100, freeGb: 90, promisedGb: 10, isUp: true },
  }
  cell!.summary = {
    ...cell!.summary,
    stores: [
      { ...store, unknownObjects: 3 },
      { ...store, id: 'other', name: 'other' },
    ],
  }
  await expect
    .poll(async () => api.gateway.federationMetrics.text())
    .toContain('weir_store_unknown_objects{cell="north",store="local"} 3')
  expect(await api.gateway.federationMetrics.text()).toContain(
    'weir_store_unknown_objects{cell="north",store="other"} 0',
  )
})
