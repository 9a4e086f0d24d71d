import { sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'

const { placeholder } = sql

/**
 * How many seconds a released address stays in quarantine: DHCP servers refuse it to another MAC while they
 * expect the old one to come back (dnsmasq: its shortest lease, two minutes).
 */
const QUARANTINE_S = 120

/** A condition of a row of `released_addresses`. The upper bound ends the quarantine if the clock is set back. */
export const IS_QUARANTINED = sql`released_at between now(3) - interval ${sql.raw(String(QUARANTINE_S))} second
  and now(3) + interval ${sql.raw(String(QUARANTINE_S))} second`

/** A condition of a statement with the placeholders `subnetId` and `offset`: the address is not in quarantine. */
export const IS_OUT_OF_QUARANTINE = sql`not exists (
  select 1 from released_addresses r where r.subnet_id = ${placeholder('subnetId')}
    and r.address_offset = cast(${placeholder('offset')} as unsigned) and r.${IS_QUARANTINED})`

const QUARANTINE = sqlStatement(sql`
  insert into released_addresses (subnet_id, address_offset, released_at)
  select subnet_id, address_offset, now(3) from port_addresses
  where port_id = ${placeholder('portId')}
    and (${placeholder('address')} is null or ip_address = ${placeholder('address')})
  on duplicate key update released_at = now(3)`)

/** Afterwards the port's addresses, or this one of them, count as released now. Call it before they are removed. */
export async function quarantineAddresses(
  tx: Tx,
  portId: string,
  address: string | null,
): Promise<void> {
  await tx.run(QUARANTINE, { portId, address })
}

const LONGEST_QUARANTINED = sqlStatement(sql`
  select cast(r.address_offset as char) as free_offset from released_addresses r
  where r.subnet_id = ${placeholder('subnetId')}
    and r.address_offset between cast(${placeholder('from')} as unsigned)
      and cast(${placeholder('to')} as unsigned)
    and not exists (select 1 from port_addresses p
      where p.subnet_id = r.subnet_id and p.address_offset = r.address_offset)
  order by r.released_at limit 1`)

/** Of the offsets `from`..`to` that no port has and that rest, the one that has rested longest. */
export async function longestQuarantined(
  tx: Tx,
  subnetId: string,
  from: bigint,
  to: bigint,
): Promise<bigint | undefined> {
  const values = { subnetId, from: from.toString(), to: to.toString() }
  const [row] = await tx.rows<{ free_offset: string }>(LONGEST_QUARANTINED, values)
  return row === undefined ? undefined : BigInt(row.free_offset)
}

const PURGE = sqlStatement(
  sql`delete from released_addresses where not (${IS_QUARANTINED}) limit ${placeholder('max')}`,
)

/** Forgets at most `rows` addresses whose rest is over; returns how many. */
export async function purgeReleasedAddresses(db: Executor, rows: number): Promise<number> {
  return (await db.run(PURGE, { max: rows })).affectedRows
}
