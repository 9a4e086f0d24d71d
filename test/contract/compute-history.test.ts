import { describe, expect, test } from 'vitest'
import { contractOf } from '#openapi/contract.ts'
import { isNode, type Node } from '#openapi/projection/annotations.ts'

/** What Nova's history says each microversion changed, written down apart from the document it checks. */
type Changes = Readonly<Record<string, string>>

const contract = contractOf('compute')
const schemasAt = new Map(
  contract.versions.map((version) => {
    const { schemas } = contract.document(version)['components'] as { schemas: Node }
    return [version, schemas]
  }),
)

/** The fields added (+) and removed (-) in a component schema, by microversion. */
function changesOf(component: string): Changes {
  const changes: Record<string, string> = {}
  let before: readonly string[] | undefined
  for (const version of contract.versions) {
    const fields = fieldsOf(schemasAt.get(version)?.[component])
    const added = fields.filter((field) => before?.includes(field) === false)
    const removed = (before ?? []).filter((field) => !fields.includes(field))
    const text = [...added.map((field) => `+${field}`), ...removed.map((field) => `-${field}`)]
    if (text.length > 0) changes[version] = text.join(' ')
    before = fields
  }
  return changes
}

/** Dotted names of the properties of a schema and of the objects written inside it. */
function fieldsOf(schema: unknown): readonly string[] {
  if (!isNode(schema)) return []
  const properties = isNode(schema['properties']) ? Object.entries(schema['properties']) : []
  return [
    ...properties.flatMap(([name, child]) => [
      name,
      ...fieldsOf(child).map((field) => `${name}.${field}`),
    ]),
    ...fieldsOf(schema['items']),
  ]
}

const SRV = 'OS-EXT-SRV-ATTR:'
const NETWORK_QUOTAS = '-fixed_ips -floating_ips -security_groups -security_group_rules'
const FILE_QUOTAS = '-injected_files -injected_file_content_bytes -injected_file_path_bytes'

const HISTORIES: Readonly<Record<string, Changes>> = {
  NewServer: {
    '2.19': '+description',
    '2.52': '+tags',
    '2.57': '-personality -personality.path -personality.contents',
    '2.63': '+trusted_image_certificates',
    '2.74': '+host +hypervisor_hostname',
    '2.90': '+hostname',
  },
  RequestedNetwork: { '2.32': '+tag', '2.37': '-tag', '2.42': '+tag' },
  BlockDevice: { '2.32': '+tag', '2.33': '-tag', '2.42': '+tag', '2.67': '+volume_type' },
  Server: {
    '2.3': [
      'hostname',
      'kernel_id',
      'launch_index',
      'ramdisk_id',
      'reservation_id',
      'root_device_name',
      'user_data',
    ]
      .map((field) => `+${SRV}${field}`)
      .join(' '),
    '2.9': '+locked',
    '2.16': '+host_status',
    '2.19': '+description',
    '2.26': '+tags',
    '2.63': '+trusted_image_certificates',
    '2.71': '+server_groups',
    '2.73': '+locked_reason',
    '2.96': '+pinned_availability_zone',
    '2.100': '+scheduler_hints',
  },
  ServerFlavor: {
    '2.47': '+original_name +vcpus +ram +disk +ephemeral +swap +extra_specs -id -links',
  },
  AttachedVolumes: { '2.3': '+delete_on_termination' },
  ServerImage: { '2.98': '+properties' },
  Flavor: {
    '2.55': '+description',
    '2.61': '+extra_specs',
    '2.102': '-OS-FLV-DISABLED:disabled -rxtx_factor',
  },
  FlavorSummary: { '2.55': '+description' },
  NewFlavor: { '2.55': '+description', '2.102': '-rxtx_factor' },
  NewKeypair: { '2.2': '+type', '2.10': '+user_id' },
  Keypair: { '2.2': '+type' },
  QuotaSet: { '2.36': NETWORK_QUOTAS, '2.57': FILE_QUOTAS },
  QuotaSetUpdate: { '2.36': NETWORK_QUOTAS, '2.57': FILE_QUOTAS },
  QuotaClassSet: {
    '2.50': `+server_groups +server_group_members ${NETWORK_QUOTAS}`,
    '2.57': FILE_QUOTAS,
  },
  AbsoluteLimits: {
    '2.36':
      '-maxSecurityGroups -maxSecurityGroupRules -maxTotalFloatingIps -totalFloatingIpsUsed -totalSecurityGroupsUsed',
    '2.39': '-maxImageMeta',
    '2.57': '-maxPersonality -maxPersonalitySize',
  },
  Hypervisor: {
    '2.53': '+servers',
    '2.88':
      '+uptime -cpu_info -current_workload -disk_available_least -free_disk_gb -free_ram_mb -local_gb -local_gb_used -memory_mb -memory_mb_used -running_vms -vcpus -vcpus_used',
  },
  Aggregate: { '2.41': '+uuid' },
  ServerGroup: {
    '2.13': '+project_id +user_id',
    '2.64': '+policy +rules +rules.max_server_per_host -metadata -policies',
  },
  NewServerGroup: { '2.64': '+policy +rules +rules.max_server_per_host -policies' },
  Service: { '2.11': '+forced_down' },
  InterfaceAttachment: { '2.70': '+tag' },
  InstanceAction: { '2.58': '+updated_at' },
  InstanceActionEvent: { '2.62': '+host +hostId', '2.84': '+details' },
}

describe('fields come and go as in the history of Nova:', () => {
  test.each(Object.entries(HISTORIES))('%s', (component, changes) => {
    expect(changesOf(component)).toEqual(changes)
  })
})

/** From which microversion to which each operation is there, by the resource it is about. */
const LIVES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  flavors: {
    updateFlavor: '2.55-',
  },
  images: {
    deleteImage: '-2.35',
    listImages: '-2.35',
    showImage: '-2.35',
  },
  'images/detail': {
    listImagesDetail: '-2.35',
  },
  'images/metadata': {
    deleteImageMetadataItem: '-2.38',
    listImageMetadata: '-2.38',
    replaceImageMetadata: '-2.38',
    showImageMetadataItem: '-2.38',
    updateImageMetadata: '-2.38',
    updateImageMetadataItem: '-2.38',
  },
  'os-aggregates/images': {
    cacheAggregateImages: '2.81-',
  },
  'os-baremetal-nodes': {
    createBaremetalNode: '-2.35',
    deleteBaremetalNode: '-2.35',
    listBaremetalNodes: '-2.35',
    showBaremetalNode: '-2.35',
  },
  'os-baremetal-nodes/action': {
    actOnBaremetalNode: '-2.35',
  },
  'os-floating-ip-pools': {
    listFloatingIpPools: '-2.35',
  },
  'os-floating-ips': {
    createFloatingIp: '-2.35',
    deleteFloatingIp: '-2.35',
    listFloatingIps: '-2.35',
    showFloatingIp: '-2.35',
  },
  'os-hosts': {
    listHosts: '-2.42',
    showHost: '-2.42',
    updateHost: '-2.42',
  },
  'os-hosts/reboot': {
    rebootHost: '-2.42',
  },
  'os-hosts/shutdown': {
    shutHostDown: '-2.42',
  },
  'os-hosts/startup': {
    startHostUp: '-2.42',
  },
  'os-hypervisors/search': {
    searchHypervisors: '-2.52',
  },
  'os-hypervisors/servers': {
    listHypervisorServers: '-2.52',
  },
  'os-hypervisors/statistics': {
    showHypervisorStatistics: '-2.87',
  },
  'os-hypervisors/uptime': {
    showHypervisorUptime: '-2.87',
  },
  'os-networks': {
    listProxiedNetworks: '-2.35',
    showProxiedNetwork: '-2.35',
  },
  'os-security-group-rules': {
    createProxiedSecurityGroupRule: '-2.35',
    deleteProxiedSecurityGroupRule: '-2.35',
  },
  'os-security-groups': {
    createProxiedSecurityGroup: '-2.35',
    deleteProxiedSecurityGroup: '-2.35',
    listProxiedSecurityGroups: '-2.35',
    showProxiedSecurityGroup: '-2.35',
    updateProxiedSecurityGroup: '-2.35',
  },
  'os-services': {
    updateService: '2.53-',
  },
  'os-services/disable': {
    disableService: '-2.52',
  },
  'os-services/disable-log-reason': {
    disableServiceWithReason: '-2.52',
  },
  'os-services/enable': {
    enableService: '-2.52',
  },
  'os-services/force-down': {
    forceServiceDown: '2.11-2.52',
  },
  'os-snapshots': {
    createProxiedSnapshot: '-2.35',
    deleteProxiedSnapshot: '-2.35',
    listProxiedSnapshots: '-2.35',
    showProxiedSnapshot: '-2.35',
  },
  'os-snapshots/detail': {
    listProxiedSnapshotsDetail: '-2.35',
  },
  'os-tenant-networks': {
    listTenantNetworks: '-2.35',
    showTenantNetwork: '-2.35',
  },
  'os-volumes': {
    createProxiedVolume: '-2.35',
    deleteProxiedVolume: '-2.35',
    listProxiedVolumes: '-2.35',
    showProxiedVolume: '-2.35',
  },
  'os-volumes_boot': {
    createVolumeBootedServer: '-2.102',
    deleteVolumeBootedServer: '-2.102',
    listVolumeBootedServers: '-2.102',
    showVolumeBootedServer: '-2.102',
    updateVolumeBootedServer: '-2.102',
  },
  'os-volumes_boot/detail': {
    listVolumeBootedServersDetail: '-2.102',
  },
  'os-volumes/detail': {
    listProxiedVolumesDetail: '-2.35',
  },
  'servers/action': {
    addServerFixedIp: '-2.43',
    addServerFloatingIp: '-2.43',
    removeServerFixedIp: '-2.43',
    removeServerFloatingIp: '-2.43',
    showRdpConsole: '-2.5',
    showSerialConsole: '-2.5',
    showSpiceConsole: '-2.5',
    showVncConsole: '-2.5',
    triggerServerCrashDump: '2.17-',
  },
  'servers/migrations': {
    abortServerMigration: '2.24-',
    listServerMigrations: '2.23-',
    showServerMigration: '2.23-',
  },
  'servers/migrations/action': {
    forceServerMigration: '2.22-',
  },
  'servers/remote-consoles': {
    createRemoteConsole: '2.6-',
  },
  'servers/shares': {
    attachServerShare: '2.97-',
    detachServerShare: '2.97-',
    listServerShares: '2.97-',
    showServerShare: '2.97-',
  },
  'servers/tags': {
    addServerTag: '2.26-',
    checkServerTag: '2.26-',
    deleteServerTag: '2.26-',
    deleteServerTags: '2.26-',
    listServerTags: '2.26-',
    replaceServerTags: '2.26-',
  },
  'servers/topology': {
    showServerTopology: '2.78-',
  },
}

const ranged = contract.operations.filter(({ ranges }) =>
  ranges.some((range) => Object.keys(range).length > 0),
)
const livesOf = Map.groupBy(ranged, ({ path }) => resourceOf(path))

/** What a path is about: `servers/tags`, whatever the server and the tag. */
function resourceOf(path: string): string {
  return path
    .split('/')
    .slice(2)
    .filter((step) => !step.startsWith('{'))
    .join('/')
}

describe('operations come and go as in the history of Nova:', () => {
  test('those of resources described here', () => {
    const strays = [...livesOf.keys()].filter((resource) => LIVES[resource] === undefined)
    expect(strays).toEqual([])
  })

  test.each(Object.entries(LIVES))('%s', (resource, lives) => {
    const operations = livesOf.get(resource) ?? []
    const seen = operations.map(({ id, ranges: [range] }) => {
      return [id, `${range?.since ?? ''}-${range?.until ?? ''}`]
    })
    expect(Object.fromEntries(seen)).toEqual(lives)
  })
})
