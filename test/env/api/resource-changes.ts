import { waitFor } from '#common/wait-for.ts'
import type { Cloud } from '../cloud.ts'
import { PUBLIC_KEY } from '../sample-key.ts'
import { deleteServer, SERVERS, smallServer, untilStatus } from './servers.ts'
import { untilStored } from './volumes.ts'

const LIMIT_MS = 30_000
const COMPUTE = '/compute/v2.1'
const NEWEST = { version: '2.90' } as const

/** The notifications of what `changeResources` does, by the first part of their type, in their order. */
export const OF_RESOURCES: Readonly<Record<string, readonly string[]>> = {
  flavor: [
    'flavor.create',
    'flavor.update',
    'flavor.update',
    'flavor.update',
    'flavor.update',
    'flavor.update',
    'flavor.delete',
  ],
  keypair: ['create', 'import', 'delete', 'delete'].flatMap((action) => [
    `keypair.${action}.start`,
    `keypair.${action}.end`,
  ]),
  aggregate: [
    'create',
    'update_prop',
    'update_metadata',
    'add_host',
    'remove_host',
    'delete',
  ].flatMap((action) => [`aggregate.${action}.start`, `aggregate.${action}.end`]),
  server_group: ['server_group.create', 'server_group.add_member', 'server_group.delete'],
}

/** Afterwards a flavor, two keypairs, an aggregate and a server group have been there, were changed, and are gone. */
export async function changeResources(cloud: Cloud): Promise<void> {
  await changeFlavor(cloud)
  await changeKeypairs(cloud)
  await changeAggregate(cloud)
  await changeServerGroup(cloud)
}

async function changeFlavor(cloud: Cloud): Promise<void> {
  const admin = cloud.as('admin')
  const project = await cloud.projectId('demo')
  const size = { vcpus: 1, ram: 64, disk: 1, 'os-flavor-access:is_public': false }
  const flavor = { id: 'notified', name: 'notified', ...size }
  await admin.post(`${COMPUTE}/flavors`, { flavor })
  const path = `${COMPUTE}/flavors/notified`
  await admin.put(path, { flavor: { description: 'for tests' } }, NEWEST)
  await admin.post(`${path}/os-extra_specs`, { extra_specs: { 'hw:cpu_policy': 'shared' } })
  await admin.delete(`${path}/os-extra_specs/hw:cpu_policy`)
  await admin.post(`${path}/action`, { addTenantAccess: { tenant: project } })
  await admin.post(`${path}/action`, { removeTenantAccess: { tenant: project } })
  await admin.delete(path)
}

async function changeKeypairs(cloud: Cloud): Promise<void> {
  const demo = cloud.as('demo')
  const path = `${COMPUTE}/os-keypairs`
  await demo.post(path, { keypair: { name: 'made' } })
  await demo.post(path, { keypair: { name: 'given', public_key: PUBLIC_KEY } })
  for (const name of ['made', 'given']) await demo.delete(`${path}/${name}`)
}

async function changeAggregate(cloud: Cloud): Promise<void> {
  const admin = cloud.as('admin')
  const path = `${COMPUTE}/os-aggregates`
  const { name: host } = cloud.hosts[0]!
  const { body } = await admin.post<{ aggregate: { id: number } }>(path, {
    aggregate: { name: 'rack' },
  })
  const one = `${path}/${body.aggregate.id}`
  await admin.put(one, { aggregate: { name: 'rack-1' } })
  await admin.post(`${one}/action`, { set_metadata: { metadata: { ssd: 'true' } } })
  await admin.post(`${one}/action`, { add_host: { host } })
  await admin.post(`${one}/action`, { remove_host: { host } })
  await admin.delete(one)
}

async function changeServerGroup(cloud: Cloud): Promise<void> {
  const demo = cloud.as('demo')
  const path = `${COMPUTE}/os-server-groups`
  const { body } = await demo.post<{ server_group: { id: string } }>(path, {
    server_group: { name: 'together', policies: ['affinity'] },
  })
  const { id: group } = body.server_group
  const hints = { 'os:scheduler_hints': { group } }
  const made = await demo.post<{ server: { id: string } }>(SERVERS, {
    ...smallServer(cloud),
    ...hints,
  })
  const { id } = made.body.server
  await untilStatus(demo, id, 'ACTIVE')
  await deleteServer(demo, id)
  await demo.delete(`${path}/${group}`)
}

/** The notifications of what `attachAndDetach` does, in their order. */
export const OF_ATTACHMENTS: readonly string[] = [
  'volume_attach',
  'volume_detach',
  'interface_attach',
  'interface_detach',
].flatMap((action) => [`instance.${action}.start`, `instance.${action}.end`])

/** Afterwards the server has had this volume and another interface, and has neither. */
export async function attachAndDetach(cloud: Cloud, id: string, volumeId: string): Promise<void> {
  const demo = cloud.as('demo')
  const volumes = `${SERVERS}/${id}/os-volume_attachments`
  await demo.post(volumes, { volumeAttachment: { volumeId } })
  await untilStored(demo, 'volume', volumeId, 'in-use')
  await demo.delete(`${volumes}/${volumeId}`)
  await untilStored(demo, 'volume', volumeId, 'available')
  const interfaces = `${SERVERS}/${id}/os-interface`
  const { body } = await demo.post<{ interfaceAttachment: { port_id: string } }>(interfaces, {
    interfaceAttachment: { net_id: cloud.catalog.network },
  })
  const one = `${interfaces}/${body.interfaceAttachment.port_id}`
  // It is refused until the interface is there.
  await waitFor('the detach', async () => (await demo.delete(one)).status === 202, LIMIT_MS)
}
