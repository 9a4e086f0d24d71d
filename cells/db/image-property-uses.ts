import { and, isNotNull, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { HostId } from '#common/ids.ts'
import { instances } from './schema/instances.ts'

type Properties = Readonly<Record<string, string>>

const USES = statement(
  builder
    .select({
      host_id: instances.hostId,
      // Text, because MariaDB forgets in groups that it is JSON.
      properties: sql`cast(${instances.imageProperties} as char)`.as('properties'),
      servers: sql`count(*)`.as('servers'),
    })
    .from(instances)
    .where(and(isNotNull(instances.hostId), isNotNull(instances.imageProperties)))
    .groupBy(instances.hostId, instances.imageProperties),
)

/** How many servers of a host have an image with a property, by `NAME=VALUE`. */
export type PropertyUses = ReadonlyMap<string, number>

/** What the servers of each host have; those built by a release that did not write it down are not counted. */
export async function imagePropertyUses(db: Executor): Promise<ReadonlyMap<HostId, PropertyUses>> {
  const rows = await db.rows<{ host_id: HostId; properties: string; servers: number }>(USES, {})
  const found = new Map<HostId, PropertyUses>()
  for (const { host_id: id, properties, servers } of rows) {
    const uses = withUses(found.get(id), JSON.parse(properties) as Properties, Number(servers))
    found.set(id, uses)
  }
  return found
}

/** The same with that many servers more whose image has these properties. */
export function withUses(
  uses: PropertyUses | undefined,
  properties: Properties,
  servers: number,
): PropertyUses {
  const sum = new Map(uses)
  for (const key of propertyKeys(properties)) sum.set(key, (sum.get(key) ?? 0) + servers)
  return sum
}

function propertyKeys(properties: Properties): readonly string[] {
  return Object.entries(properties).map(([name, value]) => `${name}=${value}`)
}
