import { type SQL, sql } from 'drizzle-orm'
import type { Executor, Transactional } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import { queueEvents } from './event-inbox.ts'

/** A ledger's amount of an owner, where it differs from the counted one. */
export interface QuotaDrift {
  /** A project, a user for key pairs, a digest for images that have a content. */
  readonly ownerId: string
  readonly resource: string
  readonly recorded: number
  readonly counted: number
}

/** The source of one number of a ledger: rows of a table or query, or the sum of one of their columns. */
interface Counted {
  readonly table: string
  readonly owner: string
  readonly amount: string
  readonly where: string
  /** A column whose value stands behind the resource's name, after `_`; absent: one resource. */
  readonly suffix?: string
}

/** A table of numbers by owner and resource. */
interface Ledger {
  readonly table: string
  readonly owner: string
  /** The column of the numbers. */
  readonly used: string
  /** False: it counts one resource only, and has no column for its name. */
  readonly hasResources: boolean
  readonly counted: Readonly<Record<string, Counted>>
}

const rowsOf = (table: string, owner = 'project_id'): Counted => {
  return { table, owner, amount: 'count(*)', where: 'true' }
}
const chargedServers = (amount: string): Counted => {
  return { table: 'instance_mappings', owner: 'project_id', amount, where: 'is_charged' }
}

/** Snapshots take room like volumes. */
const gigabytesOf = (volumes: string): Counted => {
  const held = `(select project_id, type_id, charged_gb as gb from ${volumes}
    union all select project_id, type_id, size_gb from volume_snapshots) held`
  return { ...rowsOf(held), amount: 'coalesce(sum(gb), 0)' }
}
/** On its way to the store of another type, a volume counts for that as well. */
const OF_TYPES = `(select project_id, type_id, charged_gb from volumes
    union all select project_id, next_type_id, charged_gb from volumes where next_type_id is not null)`
const BY_TYPE = { where: 'type_id is not null', suffix: 'type_id' }

const LEDGERS: readonly Ledger[] = [
  {
    table: 'quota_usages',
    owner: 'owner_id',
    used: 'used',
    hasResources: true,
    counted: {
      cores: chargedServers('coalesce(sum(cores), 0)'),
      instances: chargedServers('count(*)'),
      key_pairs: rowsOf('keypairs', 'user_id'),
      ram: chargedServers('coalesce(sum(ram_mb), 0)'),
      server_groups: rowsOf('server_groups'),
    },
  },
  {
    table: 'network_quotas',
    owner: 'project_id',
    used: 'used',
    hasResources: true,
    counted: {
      floatingip: rowsOf('floating_ips'),
      network: rowsOf('networks'),
      port: { ...rowsOf('ports'), where: "project_id <> ''" },
      rbac_policy: rowsOf('rbac_policies'),
      router: rowsOf('routers'),
      security_group: rowsOf('security_groups'),
      security_group_rule: rowsOf('security_group_rules'),
      subnet: rowsOf('subnets'),
      subnetpool: rowsOf('subnet_pools'),
    },
  },
  {
    table: 'volume_quotas',
    owner: 'project_id',
    used: 'used',
    hasResources: true,
    counted: {
      gigabytes: gigabytesOf('volumes'),
      snapshots: rowsOf('volume_snapshots'),
      volumes: rowsOf('volumes'),
    },
  },
  {
    table: 'volume_quotas',
    owner: 'project_id',
    used: 'used',
    hasResources: true,
    counted: {
      gigabytes: { ...gigabytesOf(`${OF_TYPES} typed`), ...BY_TYPE },
      snapshots: { ...rowsOf('volume_snapshots'), ...BY_TYPE },
      volumes: { ...rowsOf(`${OF_TYPES} typed`), ...BY_TYPE },
    },
  },
  // Of images of one content: at none its file goes.
  {
    table: 'image_contents',
    owner: 'sha256',
    used: 'image_count',
    hasResources: false,
    counted: {
      image: {
        ...rowsOf('images', 'content_sha256'),
        where: 'content_sha256 is not null and content_host is null',
      },
    },
  },
]

const ownerId = sql.placeholder('ownerId')
const union = (parts: readonly SQL[]) => sql.join([...parts], sql` union all `)

/** The name in the ledger of the resource that a row counts for. */
function nameOf(resource: string, { suffix }: Counted): string {
  return suffix === undefined ? `'${resource}'` : `concat('${resource}_', ${suffix})`
}

/** The numbers of a resource by owner, as rows of a union. */
function countedRows([resource, counted]: readonly [string, Counted]): SQL {
  const { table, owner, amount, where, suffix } = counted
  const groups = [owner, suffix].filter((column) => column !== undefined).join(', ')
  return sql.raw(
    `select ${owner} as owner, ${nameOf(resource, counted)} as resource, 0 as recorded, ${amount} as counted from ${table} where ${where} group by ${groups}`,
  )
}

/** True of the ledger's rows that `counted` has the numbers of. */
function isCounted(resource: string, counted: Ledger['counted']): SQL {
  const each = Object.entries(counted).map(([name, { suffix }]) =>
    suffix === undefined ? `${resource} = '${name}'` : `${resource} like '${name}\\_%'`,
  )
  return sql.raw(`(${each.join(' or ')})`)
}

const STATEMENTS = LEDGERS.map(({ table, owner, used, hasResources, counted }) => {
  const resources = Object.entries(counted)
  const [ledger, by, amount] = [sql.raw(table), sql.raw(owner), sql.raw(used)]
  const named = hasResources ? 'resource' : `'${resources[0]![0]}'`
  const resource = sql.raw(named)
  const recordedRows = sql`select ${by} as owner, ${resource} as resource, ${amount} as recorded, 0 as counted
    from ${ledger} where ${isCounted(named, counted)}`
  const isRow = sql`${by} = ${ownerId} and ${resource} = ${sql.placeholder('resource')}`
  const [columns, values] = hasResources
    ? [sql`${by}, resource, ${amount}`, sql`${ownerId}, ${sql.placeholder('resource')}, 0`]
    : [sql`${by}, ${amount}`, sql`${ownerId}, 0`]
  return {
    /** One statement, so one snapshot: a change and its charge commit together, so any difference is there for good. */
    find: sqlStatement(sql`
      select owner, resource, sum(recorded) as recorded, sum(counted) as counted
      from (${union([recordedRows, ...resources.map(countedRows)])}) sides
      group by owner, resource having recorded <> counted limit 1000`),
    hold: sqlStatement(sql`
      insert into ${ledger} (${columns}) values (${values}) on duplicate key update ${amount} = ${amount}`),
    recorded: sqlStatement(sql`select ${amount} as n from ${ledger} where ${isRow}`),
    /** Of the resource's own source: no other name equals its own. */
    counted: sqlStatement(
      sql`select coalesce(sum(n), 0) as n from (${union(
        resources.map(([name, of]) => {
          const isIt = sql`${sql.raw(nameOf(name, of))} = ${sql.placeholder('resource')}`
          return sql`select ${sql.raw(of.amount)} as n from ${sql.raw(of.table)} where ${sql.raw(of.owner)} = ${ownerId} and ${sql.raw(of.where)} and ${isIt}`
        }),
      )}) sources`,
    ),
    set: sqlStatement(sql`
      update ${ledger} set ${amount} = ${sql.placeholder('counted')} where ${isRow}`),
  }
})

type LedgerStatements = (typeof STATEMENTS)[number]

/** The amounts of all ledgers that differ from the counted ones. */
export async function findQuotaDrift(db: Pick<Executor, 'rows'>): Promise<readonly QuotaDrift[]> {
  const found = await Promise.all(STATEMENTS.map((ledger) => driftOf(db, ledger)))
  return found.flat()
}

async function driftOf(
  db: Pick<Executor, 'rows'>,
  { find }: LedgerStatements,
): Promise<readonly QuotaDrift[]> {
  type Row = Record<'owner' | 'resource' | 'recorded' | 'counted', string>
  const rows = await db.rows<Row>(find, {})
  return rows.map(({ owner: of, resource, recorded, counted }) => {
    return { ownerId: of, resource, recorded: Number(recorded), counted: Number(counted) }
  })
}

/**
 * Afterwards every ledger has the counted amounts, with an event for each correction; returns the corrections. Safe
 * beside any number of writers and of other runs.
 */
export async function repairQuotaDrift(
  db: Executor & Transactional,
  signal: AbortSignal,
): Promise<readonly QuotaDrift[]> {
  const repaired: QuotaDrift[] = []
  for (const ledger of STATEMENTS) {
    for (const { ownerId: of, resource } of await driftOf(db, ledger)) {
      signal.throwIfAborted()
      const drift = await repair(db, ledger, { ownerId: of, resource })
      if (drift !== undefined) repaired.push(drift)
    }
  }
  return repaired
}

/**
 * A transaction that changes a counted resource changes the ledger's row, too. While the row is locked, a count
 * therefore sees exactly the resources that the row counts.
 */
function repair(
  db: Transactional,
  ledger: LedgerStatements,
  of: Pick<QuotaDrift, 'ownerId' | 'resource'>,
): Promise<QuotaDrift | undefined> {
  return db.transaction(async (tx) => {
    const one = async (statement: Parameters<typeof tx.rows>[0]) =>
      Number((await tx.rows<{ n: number | string }>(statement, of))[0]?.n ?? 0)
    await tx.run(ledger.hold, of)
    const recorded = await one(ledger.recorded)
    const counted = await one(ledger.counted)
    if (recorded === counted) return undefined
    await tx.run(ledger.set, { ...of, counted })
    const message = `Quota usage of ${of.resource} of ${of.ownerId} was recorded as ${recorded}, and is ${counted}.`
    queueEvents(tx, [{ type: 'quota.repaired', details: { state: 'repaired', message } }])
    return { ...of, recorded, counted }
  })
}
