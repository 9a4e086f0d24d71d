import type { DocumentName } from '#openapi/load-document.ts'
import type { Microversion } from '#openapi/microversions.ts'
import { isNode } from '#openapi/projection/annotations.ts'
import { NAMED } from './made.ts'
import type { Targets } from './targets.ts'
import { bodyOf, validBody, type Walked } from './walked.ts'

/** The service and the parameter whose object a property of a body names. */
const MEANT: Readonly<Record<string, readonly [service: DocumentName, parameter: string]>> = {
  domain_id: ['identity', 'domain_id'],
  floating_network_id: ['network', 'external_network_id'],
  flavorRef: ['compute', 'flavor_id'],
  host: ['compute', 'host_name'],
  imageRef: ['compute', 'image_id'],
  internal_port_id: ['network', 'port_id'],
  network_id: ['network', 'network_id'],
  object_id: ['network', 'network_id'],
  parent_group_id: ['network', 'security_group_id'],
  parent_id: ['identity', 'domain_id'],
  project: ['identity', 'project_id'],
  project_id: ['identity', 'project_id'],
  region_id: ['identity', 'region_id'],
  remote_group_id: ['network', 'security_group_id'],
  security_group_id: ['network', 'security_group_id'],
  service_id: ['identity', 'service_id'],
  tenant: ['identity', 'project_id'],
  tenant_id: ['identity', 'project_id'],
  uuid: ['network', 'network_id'],
  volume_id: ['volume', 'volume_id'],
}

/** The same for single operations, which would spoil the usual objects. */
const MEANT_BY: Readonly<Record<string, typeof MEANT>> = {
  createTransfer: { volume_id: ['volume', 'offered_volume_id'] },
  createOsVolumeTransfer: { volume_id: ['volume', 'offered_volume_id'] },
}

/** What a text of any kind may not be, though its schema says no more. */
const TEXTS: Readonly<Record<string, string>> = {
  binary: 'nova-compute',
  cidr: '10.99.0.0/24',
  gateway_ip: '10.99.0.1',
  ip_protocol: 'tcp',
  prefixes: '10.90.0.0/16',
  protocol: 'tcp',
  public_key:
    'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJqLTRMyvjlpKdDpuMZzQTEFEfOr1g1FW3GHZ8SfPFJ5 sample',
}

/** What no sample is valid for with everything else: what excludes another property, or nothing here can do. */
const LEFT_OUT = new Set(
  [
    'accessIPv4 accessIPv6 adminPass bmc device_id device_owner fixed_address address allocation_pools allowed_address_pairs availability_zone config_drive',
    'block_device_mapping block_device_mapping_v2 default_project_id dns_nameservers expires_at fixed_ip',
    'fixed_ips group_id host_routes hypervisor_hostname is_domain key_name OS-SCH-HNT:scheduler_hints',
    'os:scheduler_hints parent_region_id personality port remote_address_group_id remote_ip_prefix rules',
    'security_groups user_id provider:network_type provider:physical_network provider:segmentation_id segments',
    'external_gateway_info routes floating_ip_address fixed_ip_address port_id subnet_id ipv6_ra_mode ipv6_address_mode',
    'projects flavors cells taints cost_weight',
    'subnetpool_id use_default_subnetpool prefixlen default_prefixlen min_prefixlen max_prefixlen is_default',
    'source_volid snapshot_id',
  ].flatMap((line) => line.split(' ')),
)

let names = 0

/** A valid body that names real objects: all properties that may occur together, each name new. */
export function meantBody(walked: Walked, version: Microversion, targets: Targets): unknown {
  const { action, id } = walked.operation
  const body = validBody(walked, version)
  const find: Find = (name) => {
    const [service, parameter] = MEANT_BY[id]?.[name] ?? MEANT[name] ?? []
    if (service === undefined || parameter === undefined) return undefined
    return targets(service, parameter, version)
  }
  if (action === undefined) return meant(body, find)
  return bodyOf(walked, meant((body as Readonly<Record<string, unknown>>)[action], find))
}

/** The object that a property of this name is to name. */
type Find = (name: string) => string | undefined

function meant(value: unknown, find: Find): unknown {
  if (Array.isArray(value)) return value.map((item) => meant(item, find))
  if (!isNode(value)) return value
  const all = Object.entries(value)
  const kept = all.filter(([name]) => !LEFT_OUT.has(name))
  return Object.fromEntries(
    (kept.length > 0 ? kept : all).map(([name, child]) => [name, meantOne(name, child, find)]),
  )
}

function meantOne(name: string, value: unknown, find: Find): unknown {
  if (typeof value !== 'string') return meant(value, find)
  const found = find(name)
  if (found !== undefined || name in MEANT) return found ?? value
  if (name === 'public_key') return TEXTS[name]
  if (value !== NAMED || (name !== 'name' && name !== 'id'))
    return value === NAMED ? (TEXTS[name] ?? value) : value
  names += 1
  return `${NAMED}-${names}`
}
