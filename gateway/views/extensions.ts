/** Aliases old clients look for, and what each stands for here. Only what is served is named. */
const EXTENSIONS = {
  'OS-DCF': 'Whether a server partitions its disk by itself.',
  'OS-EXT-AZ': 'The availability zone of a server.',
  'OS-EXT-IPS': 'The type of each address of a server.',
  'OS-EXT-IPS-MAC': 'The MAC address of each address of a server.',
  'OS-EXT-SRV-ATTR': 'Where a server is, for administrators.',
  'OS-EXT-STS': 'The states a status is computed from.',
  'OS-FLV-DISABLED': 'Whether a flavor can be used for new servers.',
  'OS-FLV-EXT-DATA': 'The size of the ephemeral disk of a flavor.',
  'OS-SRV-USG': 'When a server was launched and terminated.',
  'os-aggregates': 'Groups of hosts.',
  'os-attach-interfaces': 'Attaching and detaching of ports.',
  'os-availability-zone': 'Availability zones, and their choice for a server.',
  'os-config-drive': 'The configuration drive of a server.',
  'os-console-auth-tokens': 'What a token of a console stands for.',
  'os-console-output': 'What a server wrote on its serial console.',
  'os-extended-hypervisors': 'More attributes of hypervisors.',
  'os-extended-quotas': 'Deletion and forcing of quotas.',
  'os-extended-services': 'Why a service is disabled.',
  'os-flavor-access': 'Projects that may use a flavor that is not public.',
  'os-flavor-extra-specs': 'Extra specs of flavors.',
  'os-flavor-manage': 'Creation and deletion of flavors.',
  'os-flavor-rxtx': 'The receive and transmit factor of a flavor.',
  'os-flavor-swap': 'The swap disk of a flavor.',
  'os-hosts': 'Hosts by name.',
  'os-hypervisor-status': 'The state and status of hypervisors.',
  'os-hypervisors': 'Hypervisors and their capacity.',
  'os-instance-actions': 'What was done to a server.',
  'os-keypairs': 'Keypairs of users.',
  'os-multiple-create': 'Creation of several servers at once.',
  'os-pause-server': 'Pausing and unpausing of servers.',
  'os-quota-class-sets': 'Limits of projects without limits of their own.',
  'os-quota-sets': 'Limits of projects.',
  'os-remote-consoles': 'Consoles of servers in a browser.',
  'os-server-external-events': 'What other services say happened to servers.',
  'os-multinic': 'Addresses of a server beyond the first.',
  'os-networks': 'Networks, read only.',
  'os-security-groups': 'Security groups of servers.',
  'os-server-group-quotas': 'Limits of server groups and their members.',
  'os-server-groups': 'Groups of servers that run together or apart.',
  'os-server-sort-keys': 'Sorting of servers.',
  'os-server-start-stop': 'Starting and stopping of servers.',
  'os-services': 'The services that run servers.',
  'os-simple-tenant-usage': 'What the servers of a project took in a period.',
  'os-tenant-networks': 'Networks of a project, read only.',
  'os-used-limits': 'How much of its limits a project uses.',
  'os-used-limits-for-admin': 'How much of its limits any project uses.',
  'os-user-data': 'User data of a server.',
} as const

/** Nova answers these two alike for every extension. */
const NAMESPACE = 'http://docs.openstack.org/compute/ext/fake_xml'
const UPDATED = '2014-12-03T00:00:00Z'

function extensionView(alias: string, description: string) {
  const words = alias.replace(/^os-/i, '').split('-')
  const name = words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('')
  return { alias, name, description, namespace: NAMESPACE, updated: UPDATED, links: [] }
}

export const extensionViews = Object.entries(EXTENSIONS).map(([alias, description]) =>
  extensionView(alias, description),
)
