import { and, eq, gt, sql } from 'drizzle-orm'
import type { Clock } from '../clock.ts'
import type { Executor } from '../db/database.ts'
import { builder, type Statement, sqlStatement, statement } from '../db/statement.ts'
import { leases } from './schema.ts'

/** Who holds a name now. `generation` grows with every change of holder and fences what the holder writes. */
export interface Lease {
  readonly name: string
  readonly holder: string
  readonly generation: number
}

/** Of statements that change nothing more when they run again. */
const REPEATABLE = { sums: [] } as const

const until = sql`now(3) + interval ${sql.placeholder('ttlMs')} * 1000 microsecond`
const holder = sql.placeholder('holder')

/** Ended, or so far ahead that the database's clock was set back since: renewing never reaches further than one TTL. */
const isOver = sql`(expires_at < now(3) or expires_at > now(3) + interval ${sql.placeholder('ttlMs')} * 2000 microsecond)`

/** Takes the lease from any holder: for a lease that belongs to one process, whose predecessor is gone. */
const SEIZE = sqlStatement(sql`
  insert into leases (name, holder, generation, expires_at)
  values (${sql.placeholder('name')}, ${holder}, 1, ${until})
  on duplicate key update generation = generation + 1, holder = values(holder), expires_at = values(expires_at)`)

/** Takes the name when it is free. MariaDB assigns in this order: \`generation\` sees the old holder, \`expires_at\` the new. */
const ACQUIRE = sqlStatement(
  sql`
  insert into leases (name, holder, generation, expires_at)
  values (${sql.placeholder('name')}, ${holder}, 1, ${until})
  on duplicate key update
    generation = if(${isOver} and holder <> values(holder), generation + 1, generation),
    holder = if(${isOver}, values(holder), holder),
    expires_at = if(holder = values(holder), values(expires_at), expires_at)`,
  REPEATABLE,
)

const RELEASE = statement(
  builder
    .update(leases)
    .set({ expiresAt: sql`now(3) - interval 1 second` })
    .where(and(eq(leases.name, sql.placeholder('name')), eq(leases.holder, holder))),
  REPEATABLE,
)

const END_HELD = statement(
  builder
    .update(leases)
    .set({ expiresAt: sql`now(3) - interval 1 second` })
    .where(and(eq(leases.holder, sql.placeholder('process')), gt(leases.expiresAt, sql`now(3)`))),
  REPEATABLE,
)

const END_NAMED = statement(
  builder
    .update(leases)
    .set({ expiresAt: sql`now(3) - interval 1 second` })
    .where(and(eq(leases.name, sql.placeholder('process')), eq(leases.holder, holder))),
  REPEATABLE,
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

/** The name, holder and duration of a lease. */
export interface LeaseTerms {
  readonly name: string
  readonly holder: string
  readonly ttlMs: number
  /** After how long it is renewed; absent: half its time. Each renewal is a durable commit, which costs an idle database most. */
  readonly renewMs?: number
}

/** Leases of a process, by its database: when one is due, others are renewed with it in one commit. */
const heldOn = new WeakMap<Executor, Set<HeldLease>>()
/** A lease is renewed with others after this part of the time after which it must be. */
const RENEWED_ALONG_AFTER = 0.3

/** A lease that one process asks for again and again, and the database no more often than it must be. */
export class HeldLease {
  readonly #db: Executor
  readonly #clock: Clock
  readonly #terms: LeaseTerms
  readonly #held: Set<HeldLease>
  #lease: Lease | undefined
  #renewedAt = Number.NEGATIVE_INFINITY
  #requestedAt = Number.NEGATIVE_INFINITY
  #renewal: Promise<void> | undefined

  /** With `seized`, which is kept and never acquired. */
  constructor(db: Executor, clock: Clock, terms: LeaseTerms, seized?: Lease) {
    this.#db = db
    this.#clock = clock
    this.#terms = terms
    this.#held = heldOn.get(db) ?? new Set()
    heldOn.set(db, this.#held)
    if (seized !== undefined) this.#set(seized, clock.elapsed())
  }

  /** The lease, if this process has it now; undefined while another has. */
  async hold(): Promise<Lease | undefined> {
    if (await this.keep()) return this.#lease
    const { name, holder: who, ttlMs } = this.#terms
    const sentAt = this.#clock.elapsed()
    const lease = await acquireLease(this.#db, name, who, ttlMs)
    this.#set(lease, sentAt)
    return lease
  }

  /** Renews the lease where that is due; false where this process does not have it. */
  async keep(): Promise<boolean> {
    this.#requestedAt = this.#clock.elapsed()
    if (this.#lease === undefined) return false
    if (this.#isOlderThan(1)) {
      const along = [...this.#held].filter((other) => other !== this && other.#mayGoAlong())
      await (this.#renewal ?? this.#renewWith(along))
    }
    // Of several that were renewed together one is lost: which it is, each finds out alone.
    if (this.#lease !== undefined && this.#renewedAt === Number.NEGATIVE_INFINITY)
      await this.#renewWith([])
    return this.#lease !== undefined
  }

  /** Afterwards the name is free for others, if this process had it. */
  async letGo(): Promise<void> {
    const { name, holder: who } = this.#terms
    const had = this.#lease !== undefined
    this.#set(undefined, Number.NEGATIVE_INFINITY)
    await this.#renewal?.catch(() => undefined)
    if (had) await releaseLease(this.#db, name, who)
  }

  async #renewWith(others: readonly HeldLease[]): Promise<void> {
    const renewal = this.#renewAll([this, ...others])
    for (const each of [this, ...others]) each.#renewal = renewal
    try {
      await renewal
    } finally {
      for (const each of [this, ...others]) each.#renewal = undefined
    }
  }

  async #renewAll(held: readonly HeldLease[]): Promise<void> {
    const sentAt = this.#clock.elapsed()
    const leases = held.map((each) => each.#lease!)
    const ttls = held.map((each) => each.#terms.ttlMs)
    const renewed = await renewLeases(this.#db, leases, ttls)
    for (const [at, each] of held.entries()) {
      if (each.#lease !== leases[at]) continue
      if (renewed === held.length) each.#renewedAt = sentAt
      else if (held.length === 1) each.#set(undefined, sentAt)
      else each.#renewedAt = Number.NEGATIVE_INFINITY
    }
  }

  #set(lease: Lease | undefined, sentAt: number): void {
    this.#lease = lease
    this.#renewedAt = sentAt
    if (lease === undefined) this.#held.delete(this)
    else this.#held.add(this)
  }

  /** Only one that was asked for lately: work that hangs must lose its lease to another process. */
  #mayGoAlong(): boolean {
    const wasRequested = this.#clock.elapsed() - this.#requestedAt < this.#terms.ttlMs / 2
    return this.#renewal === undefined && wasRequested && this.#isOlderThan(RENEWED_ALONG_AFTER)
  }

  #isOlderThan(part: number): boolean {
    const { ttlMs, renewMs = ttlMs / 2 } = this.#terms
    return this.#clock.elapsed() - this.#renewedAt >= renewMs * part
  }
}

/** Renews all of them in one commit; returns how many their holders still had. */
async function renewLeases(
  db: Executor,
  leases: readonly Lease[],
  ttls: readonly number[],
): Promise<number> {
  const values = leases.flatMap(({ name, holder: who }, at) => [
    [`name${at}`, name],
    [`holder${at}`, who],
    [`ttlMs${at}`, ttls[at]],
  ])
  const { affectedRows } = await db.run(renewal(leases.length), Object.fromEntries(values))
  return affectedRows
}

/** By the number of leases. */
const RENEWALS: Statement[] = []

function renewal(count: number): Statement {
  const each = Array.from({ length: count }, (_, at) => at)
  const names = each.map((at) => sql.placeholder(`name${at}`))
  const byName = (value: string) => {
    const cases = each.map((at) => sql`when ${names[at]!} then ${sql.placeholder(`${value}${at}`)}`)
    return sql`case name ${sql.join(cases, sql` `)} end`
  }
  RENEWALS[count] ??= sqlStatement(
    sql`
    update leases set expires_at = now(3) + interval (${byName('ttlMs')}) * 1000 microsecond
    where name in (${sql.join(names, sql`, `)}) and holder = ${byName('holder')}`,
    REPEATABLE,
  )
  return RENEWALS[count]
}

/** Afterwards the name is free for others, if `who` had it. */
export async function releaseLease(db: Executor, name: string, who: string): Promise<void> {
  await db.run(RELEASE, { name, holder: who })
}

/** Afterwards others may have the leases that the process holds, except those that it renews before another takes them: then it was at work after all. */
export async function endLeasesHeldBy(db: Executor, process: string): Promise<void> {
  await db.run(END_HELD, { process })
}

/** Afterwards others may take up the sagas of this incarnation of the process, unless it renews its own lease before. */
export async function endProcessLease(
  db: Executor,
  process: string,
  incarnation: string,
): Promise<void> {
  await db.run(END_NAMED, { process, holder: incarnation })
}

async function readLease(db: Executor, name: string): Promise<Lease | undefined> {
  const [row] = await db.rows<{ holder: string; generation: number }>(READ, { name })
  return row === undefined ? undefined : { name, ...row }
}

/** Afterwards no process holds a lease: for a database whose processes are all gone. */
export async function endAllLeases(db: Executor): Promise<void> {
  await db.orm.update(leases).set({ expiresAt: sql`now(3) - interval 1 second` })
}
