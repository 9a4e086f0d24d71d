import { and, eq, sql } from 'drizzle-orm'
import type { Clock } from '../clock.ts'
import type { Executor } from '../db/database.ts'
import { builder, sqlStatement, statement } from '../db/statement.ts'
import { leases } from './schema.ts'

/** Who holds a name now. `generation` grows with every change of holder and fences what the holder writes. */
export interface Lease {
  readonly name: string
  readonly holder: string
  readonly generation: number
}

const until = sql`now(3) + interval ${sql.placeholder('ttlMs')} * 1000 microsecond`
const holder = sql.placeholder('holder')

/** Ended, or so far ahead that the database's clock was set back since: renewing never reaches further than one TTL. */
const isOver = sql`(expires_at < now(3) or expires_at > now(3) + interval ${sql.placeholder('ttlMs')} * 2000 microsecond)`

/** Takes the name whoever had it: for a name that belongs to one process, whose predecessor is gone. */
const SEIZE = sqlStatement(sql`
  insert into leases (name, holder, generation, expires_at)
  values (${sql.placeholder('name')}, ${holder}, 1, ${until})
  on duplicate key update generation = generation + 1, holder = values(holder), expires_at = values(expires_at)`)

/** Takes the name when it is free. MariaDB assigns in this order: \`generation\` sees the old holder, \`expires_at\` the new. */
const ACQUIRE = sqlStatement(sql`
  insert into leases (name, holder, generation, expires_at)
  values (${sql.placeholder('name')}, ${holder}, 1, ${until})
  on duplicate key update
    generation = if(${isOver} and holder <> values(holder), generation + 1, generation),
    holder = if(${isOver}, values(holder), holder),
    expires_at = if(holder = values(holder), values(expires_at), expires_at)`)

const RENEW = statement(
  builder
    .update(leases)
    .set({ expiresAt: until })
    .where(and(eq(leases.name, sql.placeholder('name')), eq(leases.holder, holder))),
)

const RELEASE = statement(
  builder
    .update(leases)
    .set({ expiresAt: sql`now(3) - interval 1 second` })
    .where(and(eq(leases.name, sql.placeholder('name')), eq(leases.holder, holder))),
)

const READ = statement(
  builder
    .select({ holder: leases.holder, generation: leases.generation })
    .from(leases)
    .where(eq(leases.name, sql.placeholder('name'))),
)

/** Afterwards `holder` has the name, and the generation is new: everything the predecessor still tries is fenced off. */
export async function seizeLease(
  db: Executor,
  name: string,
  who: string,
  ttlMs: number,
): Promise<Lease> {
  await db.run(SEIZE, { name, holder: who, ttlMs })
  const lease = await readLease(db, name)
  if (lease?.holder !== who) throw new Error(`Two processes run under the name '${name}'`)
  return lease
}

/** The lease when `who` has it now, newly taken or renewed; undefined while somebody else has it. */
export async function acquireLease(
  db: Executor,
  name: string,
  who: string,
  ttlMs: number,
): Promise<Lease | undefined> {
  await db.run(ACQUIRE, { name, holder: who, ttlMs })
  const lease = await readLease(db, name)
  return lease?.holder === who ? lease : undefined
}

/** What a lease is held by. */
export interface LeaseTerms {
  readonly name: string
  readonly holder: string
  readonly ttlMs: number
  /** After how long it is renewed; absent: half its time. Each renewal is a durable commit, which costs an idle database most. */
  readonly renewMs?: number
}

/** A lease that one process asks for again and again, and the database no more often than it must be. */
export class HeldLease {
  readonly #db: Executor
  readonly #clock: Clock
  readonly #terms: LeaseTerms
  #lease: Lease | undefined
  #askedAt = Number.NEGATIVE_INFINITY

  constructor(db: Executor, clock: Clock, terms: LeaseTerms) {
    this.#db = db
    this.#clock = clock
    this.#terms = terms
  }

  /** The lease, if this process has it now; undefined while another has. */
  async hold(): Promise<Lease | undefined> {
    const { name, holder: who, ttlMs, renewMs = ttlMs / 2 } = this.#terms
    const now = this.#clock.elapsed()
    const held = this.#lease
    if (held !== undefined && now - this.#askedAt < renewMs) return held
    this.#lease = undefined
    const isRenewed = held !== undefined && (await renewLease(this.#db, held, ttlMs))
    this.#lease = isRenewed ? held : await acquireLease(this.#db, name, who, ttlMs)
    this.#askedAt = now
    return this.#lease
  }
}

/** Keeps a lease one has; false when somebody else has taken the name since. */
export async function renewLease(db: Executor, lease: Lease, ttlMs: number): Promise<boolean> {
  const { affectedRows } = await db.run(RENEW, { name: lease.name, holder: lease.holder, ttlMs })
  return affectedRows === 1
}

/** Afterwards the name is free for others, if `who` had it. */
export async function releaseLease(db: Executor, name: string, who: string): Promise<void> {
  await db.run(RELEASE, { name, holder: who })
}

async function readLease(db: Executor, name: string): Promise<Lease | undefined> {
  const [row] = await db.rows<{ holder: string; generation: number }>(READ, { name })
  return row === undefined ? undefined : { name, ...row }
}
