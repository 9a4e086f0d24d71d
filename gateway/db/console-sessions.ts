import { eq, sql } from 'drizzle-orm'
import type { Executor, Transactional } from '#common/db/database.ts'
import { builder, sqlStatement, statement } from '#common/db/statement.ts'
import type { ConsolePlace, ConsoleSession } from '../app/consoles/console-session.ts'
import { consoleSessions } from './schema/consoles.ts'

/** A session whose gateway has not renewed it for so long is over. */
const LEASE = sql`interval 30 second`

const id = sql.placeholder('id')
const tokenHash = sql.placeholder('tokenHash')

const INSERT = statement(
  builder.insert(consoleSessions).values({
    id,
    tokenHash,
    serverId: sql.placeholder('serverId'),
    attempt: sql.placeholder('attempt'),
    cellId: sql.placeholder('cellId'),
    hostId: sql.placeholder('hostId'),
    kind: sql.placeholder('kind'),
    projectId: sql.placeholder('projectId'),
    callerTokenHash: sql.placeholder('callerTokenId'),
    expiresAt: sql`now(3) + interval ${sql.placeholder('lifetimeS')} second`,
  }),
)

const UNUSED = sql`c.token_hash = ${tokenHash} and c.alive_until is null and c.expires_at > now(3)`
/** The guest is still the one that the session is for. */
const IN_PLACE = sql`s.attempt = c.attempt and s.host_id = c.host_id and s.deleted_at is null and not s.is_deleting`
const WITH_SERVER = sql`console_sessions c join server_index s on s.server_id = c.server_id`

const TAKE = sqlStatement(
  sql`update ${WITH_SERVER} set c.alive_until = now(3) + ${LEASE} where ${UNUSED} and ${IN_PLACE}`,
)
const RENEW = sqlStatement(
  sql`update ${WITH_SERVER} set c.alive_until = now(3) + ${LEASE} where c.id = ${id} and ${IN_PLACE}`,
)
const FIND_UNUSED = sqlStatement(
  sql`select c.* from ${WITH_SERVER} where ${UNUSED} and ${IN_PLACE}`,
)
const FIND = statement(
  builder.select().from(consoleSessions).where(eq(consoleSessions.tokenHash, tokenHash)),
)
const COUNT_OPEN = sqlStatement(
  sql`select count(*) as n from console_sessions where project_id = ${sql.placeholder('projectId')} and alive_until > now(3)`,
)
const DELETE = statement(builder.delete(consoleSessions).where(eq(consoleSessions.id, id)))
const PURGE = sqlStatement(
  sql`delete from console_sessions where expires_at < now(3) and coalesce(alive_until, expires_at) < now(3) limit ${sql.placeholder('max')}`,
)

interface Row {
  readonly id: string
  readonly server_id: string
  readonly attempt: number
  readonly cell_id: string
  readonly host_id: string
  readonly kind: string
  readonly project_id: string
  readonly caller_token_hash: string
}

/** Afterwards the holder of the token may open the console, once, within `lifetimeS`. */
export async function insertConsoleSession(
  db: Executor,
  session: ConsoleSession,
  tokenHashed: string,
  lifetimeS: number,
): Promise<void> {
  const { place, ...rest } = session
  await db.run(INSERT, { ...rest, ...place, tokenHash: tokenHashed, lifetimeS })
}

/** The session of a token that is unused and whose guest is on the same host as before; undefined for any other. */
export async function findUnusedConsole(
  db: Executor,
  tokenHashed: string,
): Promise<ConsoleSession | undefined> {
  const [row] = await db.rows<Row>(FIND_UNUSED, { tokenHash: tokenHashed })
  return row === undefined ? undefined : sessionOf(row)
}

/**
 * Uses the token up: the session is open until its lease ends. Undefined when there is none to open; `openMax` more
 * than so many of the project stay as they are, and the session is `refused`.
 */
export async function takeConsoleSession(
  db: Transactional,
  tokenHashed: string,
  openMax: number,
): Promise<ConsoleSession | 'refused' | undefined> {
  return db.transaction(async (tx) => {
    const { affectedRows } = await tx.run(TAKE, { tokenHash: tokenHashed })
    const [row] = affectedRows > 0 ? await tx.rows<Row>(FIND, { tokenHash: tokenHashed }) : []
    if (row === undefined) return undefined
    const [count] = await tx.rows<{ n: number }>(COUNT_OPEN, { projectId: row.project_id })
    if (Number(count?.n) <= openMax) return sessionOf(row)
    await tx.run(DELETE, { id: row.id })
    return 'refused'
  })
}

/** False when the session is over: revoked, or its guest is gone or elsewhere. */
export async function renewConsoleSession(db: Executor, sessionId: string): Promise<boolean> {
  return (await db.run(RENEW, { id: sessionId })).affectedRows > 0
}

export async function deleteConsoleSession(db: Executor, sessionId: string): Promise<void> {
  await db.run(DELETE, { id: sessionId })
}

/** Removes up to `rows` sessions that can never be opened or renewed again; gives how many. */
export async function purgeConsoleSessions(db: Executor, rows: number): Promise<number> {
  return (await db.run(PURGE, { max: rows })).affectedRows
}

function sessionOf(row: Row): ConsoleSession {
  const place = {
    serverId: row.server_id,
    attempt: row.attempt,
    cellId: row.cell_id,
    hostId: row.host_id,
    kind: row.kind,
  } as ConsolePlace
  const callerTokenId = row.caller_token_hash
  return { id: row.id, projectId: row.project_id, callerTokenId, place }
}
