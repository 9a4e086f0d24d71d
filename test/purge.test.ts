import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { migrateDatabase } from '#common/db/migrate.ts'
import { purgeCell, purgeGateway } from '#deploy/upkeep/purge-all.ts'
import { tablesOf } from '#test/env/database-text.ts'
import { freshDatabase } from '#test/env/fresh-database.ts'

// Goal: every table is either purged or listed here with the reason why it does not grow. Add a new table to one of these lists.

const MIGRATIONS = '__drizzle_migrations'
const NOT_GROWING = 'one row per lease or process name'
const BY_USERS = 'kept until a user or operator deletes it, within quota'
const BY_OPERATORS = 'made and deleted by operators'

/** Removed together with rows of a table that is purged, or when what it describes ends. */
const GOES_WITH: Readonly<Record<string, string>> = {
  // Of the global database.
  instance_mappings: 'the end of the delete',
  request_specs: 'the end of the delete',
  server_intents: 'being carried out, or its server',
  port_addresses: 'its port',
  port_security_groups: 'its port',
  image_tags: 'its image',
  image_members: 'its image',
  image_contents: 'its last image',
  role_assignments: 'its project or user',
  access_rules: 'its user',
  server_migrations: 'its server',
  server_group_members: 'its server',
  aggregate_hosts: 'its aggregate',
  own_limits: 'its project, domain or service',
  flavor_access: 'its flavor',
  volume_type_access: 'its volume type',
  volume_attachments: 'its server, or a detach',
  volume_transfers: 'its volume, or the project that accepts it',
  default_volume_types: 'its volume type',
  network_segments: 'its network',
  cell_tunnels: 'its cells',
  placement_policy_bindings: 'its policy',
  rbac_policies: 'its network',
  router_interfaces: 'its router',
  router_gateways: 'its router, or the last server behind it in the cell',
  auto_allocated_topologies: 'its network',
  // Of a cell's.
  instances: 'the end of the delete',
  allocations: 'its server, or the audit',
  group_members: 'its server; of users: the user or the group',
  group_hosts: 'its last member',
  custom_resources: 'its provider',
  volume_copies: 'the end of the move of its volume',
  store_hosts: 'its host, or the next report of that',
}

const KEPT: Readonly<Record<string, string>> = {
  [MIGRATIONS]: 'one row per migration',
  migration_lock: 'one row',
  leases: NOT_GROWING,
  revocation_counter: 'one row',
  feed_state: 'one row',
  network_objects: 'what gateways say the networks of servers are made of; they remove it',
  port_bindings: 'what OVN says of those ports; they go with them',
  network_writer: 'one row',
  event_state: 'one row',
  notification_state: 'one row',
  event_inbox: 'empty but for the last moments: the relay moves its rows to `events`',
  sites: BY_OPERATORS,
  active_site: 'one row',
  known_site: 'one row',
  cell_mappings: BY_OPERATORS,
  placement_policies: BY_OPERATORS,
  custom_traits: BY_OPERATORS,
  provider_settings:
    'one row per host about which administrators decided: it goes when the host is forgotten',
  server_replicas: 'one row per protected server and cell: they go when the cell has let go',
  cell_accounts: 'one row per cell that ever was',
  bus_keys: 'one row per join of a cell or host',
  host_index: 'one row per host that ever was',
  hosts: 'one row per host that ever was',
  resource_providers: 'one row per host that ever was',
  registered_limits: BY_OPERATORS,
  domains: BY_OPERATORS,
  projects: BY_OPERATORS,
  users: BY_OPERATORS,
  roles: BY_OPERATORS,
  implied_roles: BY_OPERATORS,
  user_groups: BY_OPERATORS,
  policies: BY_OPERATORS,
  metadef_namespaces: BY_OPERATORS,
  regions: BY_OPERATORS,
  catalog_services: BY_OPERATORS,
  catalog_endpoints: BY_OPERATORS,
  aggregates: BY_OPERATORS,
  server_groups: BY_USERS,
  webhooks: BY_USERS,
  application_credentials: BY_USERS,
  credentials: BY_USERS,
  flavors: BY_OPERATORS,
  quota_limits: BY_OPERATORS,
  user_quota_limits: BY_OPERATORS,
  quota_classes: BY_OPERATORS,
  quota_usages: 'a few rows per project or user',
  network_quotas: 'a few rows per project',
  volume_types: BY_OPERATORS,
  volume_quotas: 'a few rows per project and volume type',
  volume_quota_classes: BY_OPERATORS,
  volumes: BY_USERS,
  volume_keys: 'they go with their volumes',
  volume_snapshots: BY_USERS,
  // The lease of an upload is a column; an upload that died makes its image queued again.
  images: BY_USERS,
  project_locks: 'one row per project and kind of resource that it has had',
  networks: BY_USERS,
  routers: BY_USERS,
  subnet_pools: BY_USERS,
  floating_ips: BY_USERS,
  port_forwardings: 'the floating IP goes only without them, and they go with the port',
  subnets: BY_USERS,
  ports: BY_USERS,
  security_groups: BY_USERS,
  security_group_rules: BY_USERS,
  keypairs: BY_USERS,
}

const PURGES = { gateway: purgeGateway, cells: purgeCell }
const LIMIT_MS = 30_000

const owned = new AsyncDisposableStack()
const urls = new Map<string, string>()

beforeAll(async () => {
  for (const component of Object.keys(PURGES)) {
    const url = await freshDatabase(`purge_${component}`)
    await migrateDatabase(url, `${component}/db/migrations`)
    urls.set(component, url)
  }
})

afterAll(() => owned.disposeAsync())

test.each(Object.entries(PURGES))('every table of %s has its end', async (component, purge) => {
  const url = urls.get(component) ?? ''
  const db = owned.use(new Database({ url, connectionsMax: 2 }))

  const purged = Object.keys(await purge(db, {}, AbortSignal.timeout(LIMIT_MS)))

  const tables = await tablesOf(url)
  const isCovered = (table: string) => purged.includes(table) || table in GOES_WITH || table in KEPT
  expect(tables.filter((table) => !isCovered(table))).toEqual([])
  expect(purged.filter((table) => !tables.includes(table))).toEqual([])
})

test('the lists name tables that are there', async () => {
  const all = await Promise.all([...urls.values()].map(tablesOf))

  const listed = [...Object.keys(GOES_WITH), ...Object.keys(KEPT)]
  expect(listed.filter((table) => !all.flat().includes(table))).toEqual([])
})

test('a retention that cannot be is refused, with the name of its setting', () => {
  const signal = AbortSignal.timeout(LIMIT_MS)
  const none = new Database({ url: urls.get('gateway') ?? '', connectionsMax: 1 })
  owned.use(none)

  const never = { GATEWAY_RETENTION_SAGAS_DAYS: '0' }
  expect(() => purgeGateway(none, never, signal)).toThrow('GATEWAY_RETENTION_SAGAS_DAYS')
  const typo = { CELL_RETENTION_SAGA_DAYS: '3' }
  expect(() => purgeCell(none, typo, signal)).toThrow('CELL_RETENTION_SAGA_DAYS is not a known')
})
