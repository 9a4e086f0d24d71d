import { Failure } from '#common/errors.ts'

interface Extension {
  readonly alias: string
  readonly name: string
  readonly description: string
  readonly updated: string
  readonly links: readonly never[]
}

const extension = (
  alias: string,
  name: string,
  description: string,
  updated: string,
): Extension => ({
  alias,
  name,
  description,
  updated: `${updated}T00:00:00Z`,
  links: [],
})

const EXTENSIONS: readonly Extension[] = [
  extension(
    'availability_zone',
    'Availability Zone',
    'The zones that networks reach',
    '2015-01-01',
  ),
  extension('binding', 'Port Binding', 'The host a port is on', '2014-02-03'),
  extension(
    'filter-validation',
    'Filter parameters validation',
    'Lists refuse unknown filters',
    '2018-03-21',
  ),
  extension(
    'ip-substring-filtering',
    'IP substring filtering',
    'Ports by parts of addresses',
    '2017-11-28',
  ),
  extension(
    'network-ip-availability',
    'Network IP Availability',
    'How many addresses are used',
    '2015-09-24',
  ),
  extension('net-mtu', 'Network MTU', 'The MTU of a network', '2015-03-25'),
  extension(
    'net-mtu-writable',
    'Network MTU (writable)',
    'The MTU of a network can be set',
    '2017-07-12',
  ),
  extension('pagination', 'Pagination support', 'Lists can be read in pages', '2016-06-12'),
  extension(
    'port-security',
    'Port Security',
    'Filtering of a port can be switched off',
    '2012-07-23',
  ),
  extension('project-id', 'project_id field enabled', 'Objects have a project_id', '2016-09-09'),
  extension('quotas', 'Quota management support', 'Limits per project', '2012-07-29'),
  extension('quota_details', 'Quota details management support', 'Use beside limits', '2017-02-10'),
  extension(
    'rbac-policies',
    'RBAC Policies',
    'Networks are shared with some projects',
    '2015-06-17',
  ),
  extension('revision-if-match', 'If-Match constraints', 'Writes for one revision', '2016-12-11'),
  extension('security-group', 'security-group', 'Security groups and their rules', '2012-10-05'),
  extension(
    'security-groups-normalized-cidr',
    'Normalized CIDR field for security group rules',
    'Rules show the network of their prefix',
    '2020-07-28',
  ),
  extension('subnet_allocation', 'Subnet Allocation', 'Subnets are taken from pools', '2015-03-30'),
  extension(
    'default-subnetpools',
    'Default Subnetpools',
    'A pool for subnets that name none',
    '2016-02-18',
  ),
  extension('sorting', 'Sorting support', 'Lists can be sorted', '2016-06-12'),
  extension(
    'standard-attr-description',
    'standard-attr-description',
    'Objects have a description',
    '2016-02-10',
  ),
  extension(
    'standard-attr-revisions',
    'Resource revision numbers',
    'Objects have a revision',
    '2016-04-11',
  ),
  extension('standard-attr-tag', 'Tag support', 'Objects have tags', '2017-01-01'),
  extension('standard-attr-timestamp', 'Resource timestamps', 'Objects have times', '2016-09-12'),
  extension(
    'weir-cells',
    'Cells of a network',
    'weir:cells says which cells a network reaches',
    '2026-11-01',
  ),
]

/** What has effect only in cells with the network engine OVN. */
const ENGINE_EXTENSIONS: readonly Extension[] = [
  extension(
    'floating-ip-port-forwarding',
    'Floating IP Port Forwarding',
    'Ports of a floating IP that lead to ports of servers',
    '2018-01-19',
  ),
  extension(
    'floating-ip-port-forwarding-description',
    'Floating IP Port Forwarding new attribute description',
    'Port forwardings have a description',
    '2019-11-01',
  ),
  extension(
    'floating-ip-port-forwarding-detail',
    'Floating IP port forwarding detail',
    'Floating IPs show the ids of their forwardings',
    '2022-05-06',
  ),
  extension(
    'floating-ip-port-forwarding-port-ranges',
    'Floating IP Port Forwarding support port ranges',
    'Port forwardings of several ports',
    '2020-07-01',
  ),
  extension(
    'expose-port-forwarding-in-fip',
    'Expose Floating IP port forwardings',
    'Floating IPs show their forwardings',
    '2018-06-28',
  ),
  extension(
    'weir-gateways',
    'Gateways of a router by cell',
    'weir:gateways says by which addresses a router leads outside in each cell',
    '2026-11-23',
  ),
  extension(
    'allowed-address-pairs',
    'Allowed Address Pairs',
    'What a port may send from besides',
    '2013-07-23',
  ),
  extension('extra_dhcp_opt', 'Neutron Extra DHCP options', 'DHCP options of a port', '2013-03-17'),
  extension(
    'dns-integration',
    'DNS Integration',
    'Names of ports inside their network',
    '2015-08-15',
  ),
]

/** What has effect by OVN, and in clouds that are hosts. */
const ROUTING_EXTENSIONS: readonly Extension[] = [
  extension(
    'external-net',
    'Neutron external network',
    'Networks marked as external',
    '2013-01-14',
  ),
  extension(
    'auto-allocated-topology',
    'Auto Allocated Topology Services',
    'A network for a project that asks for some',
    '2016-01-01',
  ),
  extension('router', 'Neutron L3 Router', 'Routers and floating IPs', '2012-07-20'),
  extension(
    'ext-gw-mode',
    'Neutron L3 Configurable external gateway mode',
    'SNAT of a router can be switched off',
    '2013-03-28',
  ),
  extension('extraroute', 'Neutron Extra Route', 'Routes of routers', '2013-02-01'),
  extension(
    'extraroute-atomic',
    'Atomically add/remove extra routes',
    'Some routes of a router',
    '2019-07-10',
  ),
  extension('l3-ha', 'HA Router extension', 'Routers are highly available', '2014-04-26'),
  extension(
    'fip-port-details',
    'Floating IP Port Details Extension',
    'The port behind a floating IP',
    '2018-04-09',
  ),
  extension('provider', 'Provider Network', 'Where a network is on the wire', '2012-09-07'),
  extension('multi-provider', 'Multi Provider Network', 'The same as a segment', '2013-06-27'),
]

/** What the cells offer. */
export interface NetworkOffers {
  readonly hasEngine: boolean
  readonly hasRouting: boolean
}

/**
 * Only extensions that are served now. Clients take an alias as a promise: without `router` none of them asks for
 * floating IPs.
 */
export function servedExtensions({ hasEngine, hasRouting }: NetworkOffers): readonly Extension[] {
  const further = [
    ...(hasEngine ? ENGINE_EXTENSIONS : []),
    ...(hasRouting ? ROUTING_EXTENSIONS : []),
  ]
  if (further.length === 0) return EXTENSIONS
  return [...EXTENSIONS, ...further].toSorted((a, b) => (a.alias < b.alias ? -1 : 1))
}

/** Throws `not-found`, by which clients learn that there is no such extension. */
export function extensionNamed(offers: NetworkOffers, alias: string): Extension {
  const found = servedExtensions(offers).find((each) => each.alias === alias)
  if (found === undefined)
    throw new Failure('not-found', `Extension with alias ${alias} does not exist`)
  return found
}
