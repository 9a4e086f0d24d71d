import type { Registry } from 'prom-client'
import { sampledGauge } from '#common/metrics/sampled-gauge.ts'
import type { ObjectCounts } from '../../db/federation-counts.ts'

/** Names of openstack-exporter, and what each counts. */
const COUNTED: readonly (readonly [name: string, help: string, count: keyof ObjectCounts])[] = [
  ['openstack_nova_flavors', 'Flavors', 'flavors'],
  ['openstack_nova_security_groups', 'Security groups', 'securityGroups'],
  ['openstack_neutron_networks', 'Networks', 'networks'],
  ['openstack_neutron_subnets', 'Subnets', 'subnets'],
  ['openstack_neutron_routers', 'Routers', 'routers'],
  ['openstack_neutron_ports', 'Ports', 'ports'],
  ['openstack_neutron_security_groups', 'Security groups', 'securityGroups'],
  ['openstack_neutron_floating_ips', 'Floating IPs', 'floatingIps'],
  [
    'openstack_neutron_floating_ips_associated_not_active',
    'Floating IPs that are to lead to a port and do not',
    'floatingIpsNotActive',
  ],
  ['openstack_cinder_snapshots', 'Snapshots of volumes', 'volumeSnapshots'],
  ['openstack_glance_images', 'Images', 'images'],
  ['weir_image_bytes', 'Bytes of all images', 'imageBytes'],
]

/** The same of the identity service, where it is this one. */
const IDENTITY: typeof COUNTED = [
  ['openstack_identity_domains', 'Domains', 'domains'],
  ['openstack_identity_projects', 'Projects', 'projects'],
  ['openstack_identity_users', 'Users', 'users'],
  ['openstack_identity_groups', 'Groups of users', 'groups'],
  ['openstack_identity_regions', 'Registered regions', 'regions'],
  ['weir_tokens', 'Tokens that are valid', 'tokens'],
]

export interface ObjectsRead {
  readonly objects: ObjectCounts
  /** Availability zones with hosts. */
  readonly zones: number
}

/** Afterwards the registry has how many there are of each; `hasIdentity` false: users are kept elsewhere. */
export function objectFigures(
  registry: Registry,
  hasIdentity: boolean,
): (read: ObjectsRead) => void {
  const counted = [...COUNTED, ...(hasIdentity ? IDENTITY : [])].map(([name, help, count]) => {
    return { set: sampledGauge(registry, { name, help }), count }
  })
  const services = ['nova', 'neutron', 'cinder', 'glance', ...(hasIdentity ? ['identity'] : [])]
  for (const service of services)
    sampledGauge(registry, {
      name: `openstack_${service}_up`,
      help: 'Always 1: without it the scrape fails',
    })([[1]])
  const zones = sampledGauge(registry, {
    name: 'openstack_nova_availability_zones',
    help: 'Availability zones that have hosts',
  })
  return ({ objects, zones: zoneCount }) => {
    for (const { set, count } of counted) set([[objects[count]]])
    zones([[zoneCount]])
  }
}
