import { hash } from 'node:crypto'
import { Database } from '#common/db/database.ts'
import type { DocumentName } from '#openapi/load-document.ts'
import { compareMicroversions, type Microversion } from '#openapi/microversions.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { activeServer, SERVERS } from '#test/env/api/servers.ts'
import type { Cloud } from '#test/env/cloud.ts'
import { reportOvn } from '#test/env/network-objects.ts'
import { type Identified, type Ids, made, NAMED } from './made.ts'
import { restingWebhook } from './resting-webhook.ts'
import { volumeTargets } from './volume-targets.ts'
import { NOBODY } from './walked.ts'

/** A real thing for every parameter of a path, by service: the project's own where a project can have one. */
export type Targets = (
  service: DocumentName,
  parameter: string,
  version: Microversion,
) => string | undefined

const NET = '/networking/v2.0'
const ID = '/identity/v3'
/** Until then hypervisors and services have numbers, where each id is one of theirs; since then UUIDs. */
const UUIDS_SINCE = '2.53'
/** Of no service or hypervisor, while they have numbers. */
const NO_NUMBER = '999999'
/** The form of an id that stands for nothing there is. */
export function absentId(parameter: string, version: Microversion): string {
  const isNumber = parameter === 'service_id' && compareMicroversions(version, UUIDS_SINCE) < 0
  return isNumber ? NO_NUMBER : NOBODY
}

/** Afterwards there is one of everything, in the project of the user `demo` or of the cloud. */
export async function makeTargets(cloud: Cloud): Promise<Targets> {
  await liftQuotas(cloud.as('admin'))
  const [network, image, identity] = await Promise.all([
    networkTargets(cloud),
    imageTargets(cloud.as('demo'), cloud.as('admin')),
    identityTargets(cloud),
  ])
  const { network_id: own = '', port_id: port = '' } = network
  const [server, administered] = await Promise.all([
    serverTargets(cloud, port),
    adminTargets(cloud.as('admin'), identity['project_id'] ?? ''),
  ])
  const volume = await volumeTargets(cloud, identity['project_id'] ?? '')
  const compute: Ids = {
    ...server,
    ...administered,
    image_id: image['image_id'] ?? '',
    network_id: own,
    port_id: port,
    floating_ip_id: network['floatingip_id'] ?? '',
    group_id: network['security_group_id'] ?? '',
    rule_id: network['security_group_rule_id'] ?? '',
    project_id: identity['project_id'] ?? '',
    volume_id: volume['volume_id'] ?? '',
    snapshot_id: volume['snapshot_id'] ?? '',
  }
  const placement = {
    uuid: cloud.cells[0]?.computes[0]?.id ?? '',
    consumer_uuid: compute['server_id'] ?? '',
    resource_class: 'VCPU',
    name: 'VCPU',
  }
  const federation = {
    webhook: await restingWebhook(cloud.as('demo')),
    placement_policy: await policyTarget(cloud.as('admin')),
    cell: cloud.cells[0]?.name ?? '',
    host: cloud.hosts[0]?.id ?? '',
    server: compute['server_id'] ?? '',
    volume: compute['volume_id'] ?? '',
    image: image['image_id'] ?? '',
    project: identity['project_id'] ?? '',
  }
  const all: Readonly<Record<DocumentName, Ids>> = {
    compute,
    identity,
    image,
    network: { ...network, agent_id: cloud.hosts[0]?.id ?? '' },
    placement,
    federation,
    volume,
  }
  const numbers = await numbersOf(cloud.as('admin'))
  return (service, parameter, version) => {
    const isNumber = service === 'compute' && compareMicroversions(version, UUIDS_SINCE) < 0
    return (isNumber ? numbers[parameter] : undefined) ?? all[service][parameter]
  }
}

async function policyTarget(admin: ApiClient): Promise<string> {
  const path = '/federation/v1/placement-policies'
  return (await made<Identified>(admin, 'POST', path, { name: NAMED, description: NAMED })).id
}

/** A walk makes more than a project may have. */
async function liftQuotas(admin: ApiClient): Promise<void> {
  const { body } = await admin.get<{ projects: readonly Identified[] }>(`${ID}/projects`)
  const quota_set = { instances: -1, cores: -1, ram: -1, key_pairs: -1, server_groups: -1 }
  const quota = {
    network: -1,
    subnet: -1,
    subnetpool: -1,
    port: -1,
    rbac_policy: -1,
    router: -1,
    floatingip: -1,
    security_group: -1,
    security_group_rule: -1,
  }
  for (const { id } of body.projects) {
    await made(admin, 'PUT', `/compute/v2.1/os-quota-sets/${id}`, { quota_set })
    await made(admin, 'PUT', `${NET}/quotas/${id}`, { quota })
  }
}

async function networkTargets(cloud: Cloud): Promise<Ids> {
  const owner = cloud.as('demo')
  await using db = new Database({ url: cloud.foundation.databaseUrl, connectionsMax: 1 })
  await reportOvn(db)
  const create = (path: string, body: object) =>
    made<Identified>(owner, 'POST', `${NET}${path}`, body)
  const network = await create('/networks', { network: { name: NAMED } })
  await made(owner, 'PUT', `${NET}/networks/${network.id}/tags`, { tags: [NAMED] })
  const subnet = await create('/subnets', {
    subnet: { network_id: network.id, ip_version: 4, cidr: '10.77.0.0/24' },
  })
  const group = await create('/security-groups', { security_group: { name: NAMED } })
  const rule = await create('/security-group-rules', {
    security_group_rule: { security_group_id: group.id, direction: 'ingress', protocol: 'tcp' },
  })
  const port = await create('/ports', { port: { network_id: network.id } })
  const rbac = await create('/rbac-policies', {
    rbac_policy: {
      object_type: 'network',
      object_id: network.id,
      action: 'access_as_shared',
      target_tenant: 'd'.repeat(32),
    },
  })
  const outside = await externalNetwork(cloud.as('admin'))
  const info = { network_id: outside }
  const pool = await create('/subnetpools', { subnetpool: { prefixes: ['10.80.0.0/16'] } })
  const router = await create('/routers', { router: { external_gateway_info: info } })
  const floating = await create('/floatingips', { floatingip: { floating_network_id: outside } })
  await made(owner, 'PUT', `${NET}/routers/${router.id}/add_router_interface`, {
    subnet_id: subnet.id,
  })
  const forwarding = await create(`/floatingips/${floating.id}/port_forwardings`, {
    port_forwarding: {
      internal_port_id: port.id,
      internal_port: 22,
      external_port: 22,
      protocol: 'tcp',
    },
  })
  const { body } = await owner.get<{ network: { project_id: string } }>(
    `${NET}/networks/${network.id}`,
  )
  return {
    network_id: network.id,
    subnet_id: subnet.id,
    security_group_id: group.id,
    security_group_rule_id: rule.id,
    port_id: port.id,
    rbac_policy_id: rbac.id,
    router_id: router.id,
    subnetpool_id: pool.id,
    floatingip_id: floating.id,
    port_forwarding_id: forwarding.id,
    external_network_id: outside,
    project_id: body.network.project_id,
    alias: 'security-group',
    collection: 'networks',
    object_id: network.id,
    tag: NAMED,
  }
}

async function externalNetwork(admin: ApiClient): Promise<string> {
  const network = { name: NAMED, 'router:external': true }
  const { id } = await made<Identified>(admin, 'POST', `${NET}/networks`, { network })
  const subnet = { network_id: id, ip_version: 4, cidr: '198.51.100.0/24' }
  await made(admin, 'POST', `${NET}/subnets`, { subnet })
  return id
}

async function imageTargets(owner: ApiClient, admin: ApiClient): Promise<Ids> {
  const image = await made<Identified>(owner, 'POST', '/image/v2/images', {
    name: NAMED,
    disk_format: 'raw',
    container_format: 'bare',
    tags: [NAMED],
    [NAMED]: NAMED,
  })
  const { status } = await owner.put(`/image/v2/images/${image.id}/file`, undefined, {
    raw: Buffer.alloc(1024, 'x'),
    headers: { 'content-type': 'application/octet-stream' },
  })
  if (status !== 204) throw new Error(`The upload answered ${status}`)
  const member = 'c'.repeat(32)
  await made(owner, 'POST', `/image/v2/images/${image.id}/members`, { member })
  await made(admin, 'POST', '/image/v2/metadefs/namespaces', {
    namespace: NAMED,
    visibility: 'public',
    resource_type_associations: [{ name: NAMED, prefix: 'a_' }],
    properties: { [NAMED]: { title: NAMED, type: 'string' } },
    objects: [{ name: NAMED }],
    tags: [{ name: NAMED }],
  })
  return {
    image_id: image.id,
    tag: NAMED,
    member_id: member,
    schema_name: 'image',
    metadef_schema: 'namespace',
    namespace: NAMED,
    resource_type: NAMED,
    property_name: NAMED,
    object_name: NAMED,
    tag_name: NAMED,
  }
}

async function serverTargets(cloud: Cloud, port: string): Promise<Ids> {
  const owner = cloud.as('demo')
  const group = await made<Identified>(
    owner,
    'POST',
    '/compute/v2.1/os-server-groups',
    { server_group: { name: NAMED, policies: ['affinity'] } },
    '2.15',
  )
  await made(owner, 'POST', '/compute/v2.1/os-keypairs', { keypair: { name: NAMED } }, '2.1')
  const metadata = { [NAMED]: NAMED }
  const { id } = await activeServer(cloud, owner, { metadata, networks: [{ port }] })
  await owner.put(`${SERVERS}/${id}/tags/${NAMED}`, undefined, { version: '2.26' })
  const { body } = await owner.get<{ instanceActions: readonly [{ request_id: string }] }>(
    `${SERVERS}/${id}/os-instance-actions`,
  )
  return {
    server_id: id,
    key: NAMED,
    tag: NAMED,
    keypair_name: NAMED,
    server_group_id: group.id,
    request_id: body.instanceActions[0].request_id,
    network_label: NAMED,
    quota_class: 'default',
    alias: 'os-keypairs',
    before: '2026-11-21 00:00:00',
  }
}

async function adminTargets(admin: ApiClient, project: string): Promise<Ids> {
  const compute = '/compute/v2.1'
  const flavor = await made<Identified>(admin, 'POST', `${compute}/flavors`, {
    flavor: { name: NAMED, ram: 64, vcpus: 1, disk: 1, 'os-flavor-access:is_public': false },
  })
  const path = `${compute}/flavors/${flavor.id}`
  await made(admin, 'POST', `${path}/os-extra_specs`, { extra_specs: { [NAMED]: NAMED } }, '2.1')
  await made(admin, 'POST', `${path}/action`, { addTenantAccess: { tenant: project } })
  const aggregate = await made<Identified>(admin, 'POST', `${compute}/os-aggregates`, {
    aggregate: { name: NAMED },
  })
  const { body } = await admin.get<{
    hypervisors: readonly [{ id: string; hypervisor_hostname: string }]
  }>(`${compute}/os-hypervisors`, { version: '2.90' })
  const services = await admin.get<{ services: readonly [Identified] }>(
    `${compute}/os-services?binary=nova-compute`,
    { version: '2.90' },
  )
  const [hypervisor] = body.hypervisors
  return {
    flavor_id: flavor.id,
    aggregate_id: String(aggregate.id),
    hypervisor_id: hypervisor.id,
    host_name: hypervisor.hypervisor_hostname,
    hostname_pattern: hypervisor.hypervisor_hostname,
    service_id: services.body.services[0].id,
  }
}

async function numbersOf(admin: ApiClient): Promise<Ids> {
  const { body } = await admin.get<{ hypervisors: readonly [{ id: number }] }>(
    '/compute/v2.1/os-hypervisors',
  )
  const services = await admin.get<{ services: readonly [{ id: number }] }>(
    '/compute/v2.1/os-services?binary=nova-compute',
  )
  return {
    hypervisor_id: String(body.hypervisors[0].id),
    service_id: String(services.body.services[0].id),
  }
}

async function identityTargets(cloud: Cloud): Promise<Ids> {
  const admin = cloud.as('admin')
  const owner = cloud.as('demo')
  const create = (path: string, body: object) =>
    made<Identified>(admin, 'POST', `${ID}${path}`, body)
  const found = async (path: string, key: string) => {
    const { body } = await admin.get<Record<string, readonly Identified[]>>(`${ID}${path}`)
    return body[key]?.[0]?.id ?? ''
  }
  const user = await found('/users?name=demo', 'users')
  const project = await found('/projects?name=demo', 'projects')
  await made(admin, 'PUT', `${ID}/projects/${project}/tags`, { tags: [NAMED] })
  const role = await create('/roles', { role: { name: NAMED } })
  const implied = await found('/roles?name=reader', 'roles')
  await made(admin, 'PUT', `${ID}/roles/${role.id}/implies/${implied}`, {})
  const group = await create('/groups', { group: { name: NAMED } })
  const region = await create('/regions', { region: { id: NAMED } })
  const service = await create('/services', { service: { type: NAMED, name: NAMED } })
  const endpoint = await create('/endpoints', {
    endpoint: { service_id: service.id, interface: 'public', url: 'http://127.0.0.1/sample' },
  })
  const policy = await create('/policies', { policy: { type: NAMED, blob: '{}' } })
  const counted = { service_id: service.id, resource_name: NAMED }
  const [registered] = await made<readonly [Identified]>(admin, 'POST', `${ID}/registered_limits`, {
    registered_limits: [{ ...counted, default_limit: 1 }],
  })
  const [limit] = await made<readonly [Identified]>(admin, 'POST', `${ID}/limits`, {
    limits: [{ ...counted, resource_limit: 1, project_id: project }],
  })
  const credential = await made<Identified & { access_rules: readonly [Identified] }>(
    owner,
    'POST',
    `${ID}/users/${user}/application_credentials`,
    {
      application_credential: {
        name: NAMED,
        access_rules: [{ service: 'compute', method: 'GET', path: '/v2.1/servers' }],
      },
    },
  )
  const {
    credential: { access },
  } = await made<{ readonly credential: { readonly access: string } }>(
    owner,
    'POST',
    `${ID}/users/${user}/credentials/OS-EC2`,
    { tenant_id: project },
  )
  await made(admin, 'PUT', `${ID}/groups/${group.id}/users/${user}`, {})
  for (const target of [`projects/${project}`, 'domains/default', 'system'])
    for (const actor of [`users/${user}`, `groups/${group.id}`]) {
      const grant = `${target}/${actor}/roles/${role.id}`
      await made(admin, 'PUT', `${ID}/${grant}`, {})
      if (target !== 'system')
        await made(admin, 'PUT', `${ID}/OS-INHERIT/${grant}/inherited_to_projects`, {})
    }
  const trust = await made<Identified>(owner, 'POST', `${ID}/OS-TRUST/trusts`, {
    trust: {
      trustor_user_id: user,
      trustee_user_id: await found('/users?name=admin', 'users'),
      project_id: project,
      impersonation: false,
      roles: [{ id: role.id }],
    },
  })
  return {
    user_id: user,
    trust_id: trust.id,
    project_id: project,
    domain_id: 'default',
    role_id: role.id,
    implied_role_id: implied,
    group_id: group.id,
    region_id: region.id,
    service_id: service.id,
    endpoint_id: endpoint.id,
    registered_limit_id: registered.id,
    limit_id: limit.id,
    application_credential_id: credential.id,
    access_rule_id: credential.access_rules[0].id,
    access_key: access,
    policy_id: policy.id,
    // As Keystone, and so we, make it.
    credential_id: hash('sha256', access),
    value: NAMED,
  }
}
