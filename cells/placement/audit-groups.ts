import { sql } from 'drizzle-orm'
import type { Executor, Transactional } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'

const groupId = sql.placeholder('groupId')

/** One statement, so one snapshot: who joins or leaves is counted in the same transaction. */
const FIND = sqlStatement(sql`
  select distinct group_id from (
    select group_id, slot from (
      select group_id, slot, members as recorded, 0 as counted from group_hosts
      union all
      select group_id, host_id, 0, count(*) from group_members group by group_id, host_id
      union all
      select group_id, '', 0, count(*) from group_members group by group_id) sides
    group by group_id, slot having sum(recorded) <> sum(counted)) wrong
  limit 100`)

/** Who joins or leaves asks for this row first. */
const HOLD = sqlStatement(sql`
  insert into group_hosts (group_id, slot, host_id, members) values (${groupId}, '', '', 0)
  on duplicate key update members = members`)

const COUNTED = sqlStatement(sql`
  select host_id, count(*) as members from group_members where group_id = ${groupId} group by host_id`)

const CLEAR = sqlStatement(sql`update group_hosts set members = 0 where group_id = ${groupId}`)

const SET = sqlStatement(sql`
  insert into group_hosts (group_id, slot, host_id, members)
  values (${groupId}, ${sql.placeholder('slot')}, ${sql.placeholder('hostId')}, ${sql.placeholder('members')})
  on duplicate key update members = values(members), host_id = values(host_id)`)

const CLOSE = sqlStatement(sql`delete from group_hosts where group_id = ${groupId} and members = 0`)

/** The server groups that count other servers than they have, on some host or in all; at most a hundred. */
export async function wrongGroups(db: Executor): Promise<readonly string[]> {
  const wrong = await db.rows<{ group_id: string }>(FIND, {})
  return wrong.map((row) => row.group_id)
}

/** Afterwards the server group counts the servers that it has, on each host and in all. */
export function recountGroup(db: Transactional, group: string): Promise<void> {
  const of = { groupId: group }
  return db.transaction(async (tx) => {
    await tx.run(HOLD, of)
    const counted = await tx.rows<{ host_id: string; members: number }>(COUNTED, of)
    await tx.run(CLEAR, of)
    for (const { host_id: hostId, members } of counted)
      await tx.run(SET, { ...of, slot: hostId, hostId, members })
    const whole = counted.reduce((sum, { members }) => sum + Number(members), 0)
    const first = counted[0]
    if (first !== undefined)
      await tx.run(SET, { ...of, slot: '', hostId: first.host_id, members: whole })
    await tx.run(CLOSE, of)
  })
}
