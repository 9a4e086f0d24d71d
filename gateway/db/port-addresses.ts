import { and, eq, inArray, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/mysql-core'
import type { Executor, Tx } from '#common/db/database.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { builder, sqlStatement, statement } from '#common/db/statement.ts'
import { IS_OUT_OF_QUARANTINE, IS_QUARANTINED, quarantineAddresses } from './released-addresses.ts'
import { portAddresses, subnets } from './schema/network.ts'

export interface AddressRow {
  readonly subnetId: string
  readonly offset: bigint
  readonly address: string
  readonly portId: string
}

const { placeholder } = sql
const number = (name: string) => sql`CAST(${placeholder(name)} AS UNSIGNED)`

// The subnet may have gone since it was read; one that is there now stays while the transaction holds its network.
const TAKE_SQL = sql`
  insert into port_addresses (subnet_id, address_offset, ip_address, port_id)
  select s.id, ${number('offset')}, ${placeholder('address')}, ${placeholder('portId')}
  from subnets s where s.id = ${placeholder('subnetId')}`

const TAKE = sqlStatement(TAKE_SQL)
const TAKE_UNLESS_QUARANTINED = sqlStatement(sql`${TAKE_SQL} and ${IS_OUT_OF_QUARANTINE}`)

/** `rested`: only if the address was not released a short while ago. */
export type TakeMode = 'any' | 'rested'

/** Gives the address to the port; false when it is another's, or the subnet is gone. */
export async function takeAddress(tx: Tx, row: AddressRow, mode: TakeMode): Promise<boolean> {
  const take = mode === 'any' ? TAKE : TAKE_UNLESS_QUARANTINED
  await tx.flush()
  try {
    const { affectedRows } = await tx.run(take, { ...row, offset: row.offset.toString() })
    return affectedRows === 1
  } catch (error) {
    if (isDuplicate(error, 'PRIMARY')) return false
    throw error
  }
}

const SUBNET_IS_THERE = sqlStatement(
  sql`select 1 into @held from subnets where id = ${placeholder('subnetId')}`,
  { sums: [] },
)
// Plain values, so that transactions that commit together insert with one statement. The null is refused.
const TAKE_FREE = sqlStatement(sql`
  insert into port_addresses (subnet_id, address_offset, ip_address, port_id)
  values (${placeholder('subnetId')}, ${number('offset')}, ${placeholder('address')},
    (select ${placeholder('portId')} from dual where ${IS_OUT_OF_QUARANTINE}))`)

/**
 * The same without an answer: the transaction fails with `otherwise` where the subnet is gone, with `isMissing` where the
 * address rests, and with its key where it is another's.
 */
export function queueAddress(tx: Tx, row: AddressRow, otherwise: () => Error): void {
  tx.queue(SUBNET_IS_THERE, { subnetId: row.subnetId }, { rows: 1, otherwise })
  tx.queue(TAKE_FREE, { ...row, offset: row.offset.toString() })
}

const OCCUPIED = sqlStatement(sql`
  select cast(v.n as char) as n from json_table(${placeholder('offsets')}, '$[*]' columns (
    n bigint unsigned path '$')) v
  where exists (select 1 from port_addresses p
      where p.subnet_id = ${placeholder('subnetId')} and p.address_offset = v.n)
    or exists (select 1 from released_addresses r
      where r.subnet_id = ${placeholder('subnetId')} and r.address_offset = v.n and r.${IS_QUARANTINED})`)

/** Which of these offsets a port has, or had a short while ago. */
export async function occupiedOffsets(
  db: Executor,
  subnetId: string,
  offsets: readonly bigint[],
): Promise<ReadonlySet<bigint>> {
  const values = { subnetId, offsets: `[${offsets.join(',')}]` }
  const rows = await db.rows<{ n: string }>(OCCUPIED, values)
  return new Set(rows.map(({ n }) => BigInt(n)))
}

const used = alias(portAddresses, 'used')
const next = alias(portAddresses, 'next')

const isStartUsed = sql`EXISTS (SELECT 1 FROM ${portAddresses} WHERE ${portAddresses.subnetId} = ${placeholder('subnetId')} AND ${portAddresses.offset} = ${number('from')})`
const hasNext = sql`EXISTS (SELECT 1 FROM ${portAddresses} AS ${sql.identifier('next')} WHERE ${next.subnetId} = ${used.subnetId} AND ${next.offset} = ${used.offset} + 1)`

/** Reads along the key from `from` and stops at the first hole; reads all of the range only when it is full. */
const FIRST_FREE = statement(
  builder
    .select({
      offset:
        sql`IF(NOT ${isStartUsed}, CAST(${number('from')} AS CHAR), (SELECT CAST(${used.offset} + 1 AS CHAR) FROM ${portAddresses} AS ${sql.identifier('used')} WHERE ${used.subnetId} = ${placeholder('subnetId')} AND ${used.offset} >= ${number('from')} AND ${used.offset} < ${number('to')} AND NOT ${hasNext} ORDER BY ${used.offset} LIMIT 1))`.as(
          'free_offset',
        ),
    })
    .from(sql`DUAL`),
)

/** The first offset of `from`..`to` that no port has, as far as is committed; undefined when all are taken. */
export async function firstFreeOffset(
  tx: Tx,
  subnetId: string,
  from: bigint,
  to: bigint,
): Promise<bigint | undefined> {
  const values = { subnetId, from: from.toString(), to: to.toString() }
  const [row] = await tx.rows<{ free_offset: string | null }>(FIRST_FREE, values)
  const found = row?.free_offset ?? null
  return found === null ? undefined : BigInt(found)
}

const LOCK_SUBNET = statement(
  builder
    .select({ id: subnets.id })
    .from(subnets)
    .where(eq(subnets.id, placeholder('subnetId')))
    .for('update'),
)

/** Lets one transaction at a time search a crowded subnet. That no two get one address does not depend on it. */
export async function lockSubnet(tx: Tx, subnetId: string): Promise<void> {
  await tx.rows(LOCK_SUBNET, { subnetId })
}

const RELEASE_OF_PORT = statement(
  builder.delete(portAddresses).where(eq(portAddresses.portId, placeholder('portId'))),
)

/** Afterwards the port has no address. */
export async function releaseAddresses(tx: Tx, portId: string): Promise<void> {
  await quarantineAddresses(tx, portId, null)
  await tx.run(RELEASE_OF_PORT, { portId })
}

/** Afterwards the port does not have this address. */
export async function releaseAddress(
  tx: Tx,
  row: Pick<AddressRow, 'subnetId' | 'address' | 'portId'>,
): Promise<void> {
  await quarantineAddresses(tx, row.portId, row.address)
  const { subnetId, address, portId } = portAddresses
  await tx.orm
    .delete(portAddresses)
    .where(and(eq(subnetId, row.subnetId), eq(address, row.address), eq(portId, row.portId)))
}

/** How many addresses of each of these subnets ports have; none where it is not named. */
export async function addressCounts(
  db: Executor,
  subnetIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (subnetIds.length === 0) return new Map()
  const rows = await db.orm
    .select({ subnetId: portAddresses.subnetId, used: sql<number>`count(*)` })
    .from(portAddresses)
    .where(inArray(portAddresses.subnetId, [...subnetIds]))
    .groupBy(portAddresses.subnetId)
  return new Map(rows.map(({ subnetId, used }) => [subnetId, Number(used)]))
}
