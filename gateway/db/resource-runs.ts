import { and, asc, eq, gt, inArray, isNotNull, isNull, lt, or, type SQL, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { type Statement, sqlStatement } from '#common/db/statement.ts'
import { isPartOfMove } from './parts-of-moves.ts'
import { resourceRuns } from './schema/usage.ts'
import type { RunQuery } from './server-runs.ts'

export type ResourceKind = 'volume' | 'image' | 'floating-ip'

/** When a resource was there, and how much it was. */
export interface ResourceRun {
  readonly id: number
  readonly kind: ResourceKind
  readonly projectId: string
  /** Null: it is in none. */
  readonly cellId: string | null
  /** GiB; of a floating IP 1. */
  readonly amount: number
  readonly startedAt: Date
  /** Null: it is still there. */
  readonly endedAt: Date | null
}

/** What there is of each kind now. Images that are still being filled have no size. The images of a move count for no project. Volumes without a cell take no room. */
const PRESENT: Readonly<Record<ResourceKind, SQL>> = {
  volume: sql`select id, project_id, cell_id, size_gb as amount, created_at from volumes where cell_id is not null`,
  image: sql`select id, owner as project_id, cast(null as char(36) character set ascii) as cell_id,
    size / 1073741824 as amount, created_at from images
    where status in ('active', 'deactivated') and not ${isPartOfMove}`,
  'floating-ip': sql`select id, project_id, cast(null as char(36) character set ascii) as cell_id,
    1 as amount, created_at from floating_ips`,
}

const KINDS = Object.keys(PRESENT) as readonly ResourceKind[]
/** In one statement. */
const ROWS_MAX = 500

/** The runs of what is gone, or is not as it was. */
const OVER = new Map(KINDS.map((kind) => [kind, over(kind)]))
function over(kind: ResourceKind): Statement {
  return sqlStatement(sql`
    select r.id from resource_runs r left join (${PRESENT[kind]}) p on p.id = r.open_id
    where r.kind = ${sql.raw(`'${kind}'`)} and r.open_id is not null
      and (p.id is null or p.project_id <> r.project_id or abs(p.amount - r.amount) > 1e-6
        or not (p.cell_id <=> r.cell_id))`)
}

/** What has no run, with the time that it begins: of its creation, or of the end of the one before. */
const NEW = new Map(KINDS.map((kind) => [kind, fresh(kind)]))
function fresh(kind: ResourceKind): Statement {
  const name = sql.raw(`'${kind}'`)
  return sqlStatement(sql`
    select p.id, p.project_id, p.cell_id, p.amount, coalesce((
      select max(b.ended_at) from resource_runs b where b.kind = ${name} and b.resource_id = p.id),
      p.created_at) as started_at
    from (${PRESENT[kind]}) p left join resource_runs r on r.kind = ${name} and r.open_id = p.id
    where r.id is null`)
}

interface Fresh {
  readonly id: string
  readonly project_id: string
  readonly cell_id: string | null
  readonly amount: number | string
  readonly started_at: Date
}

/**
 * Afterwards the runs say what is there now. Several may do so at once. What there is, is read first: a statement that
 * also writes would lock it.
 */
export async function recordResourceRuns(db: Executor): Promise<void> {
  for (const kind of KINDS) {
    const ended = await db.rows<{ id: number }>(OVER.get(kind)!, {})
    for (const slice of slices(ended))
      await db.orm
        .update(resourceRuns)
        .set({ endedAt: sql`now(3)`, openId: null })
        .where(
          and(
            inArray(
              resourceRuns.id,
              slice.map(({ id }) => id),
            ),
            isNotNull(resourceRuns.openId),
          ),
        )
    const begun = await db.rows<Fresh>(NEW.get(kind)!, {})
    for (const slice of slices(begun))
      await db.orm
        .insert(resourceRuns)
        .values(slice.map((row) => runOf(kind, row)))
        .onDuplicateKeyUpdate({ set: { id: sql`resource_runs.id` } })
  }
}

function runOf(kind: ResourceKind, { id, project_id, cell_id, amount, started_at }: Fresh) {
  return {
    kind,
    ...{ resourceId: id, openId: id, projectId: project_id, cellId: cell_id },
    ...{ amount: Number(amount), startedAt: started_at },
  }
}

function slices<T>(rows: readonly T[]): readonly T[][] {
  return Array.from({ length: Math.ceil(rows.length / ROWS_MAX) }, (_, nth) =>
    rows.slice(nth * ROWS_MAX, (nth + 1) * ROWS_MAX),
  )
}

export type ResourceRunQuery = Omit<RunQuery, 'marker'> & { readonly after: number }

/** Runs that had begun before the end of the window and were not over at its beginning, by id. */
export async function listResourceRuns(
  db: Executor,
  { projectId, from, to, after, limit }: ResourceRunQuery,
): Promise<readonly ResourceRun[]> {
  const { id, kind, cellId, amount, startedAt, endedAt } = resourceRuns
  const rows = await db.orm
    .select({ id, kind, projectId: resourceRuns.projectId, cellId, amount, startedAt, endedAt })
    .from(resourceRuns)
    .where(
      and(
        gt(id, after),
        projectId === null ? undefined : eq(resourceRuns.projectId, projectId),
        lt(startedAt, to),
        or(isNull(endedAt), gt(endedAt, from)),
      ),
    )
    .orderBy(asc(id))
    .limit(limit)
  return rows.map((row) => ({ ...row, kind: row.kind as ResourceKind }))
}

/** Removes at most `rows` runs that had ended before a time, and returns how many. */
export async function purgeResourceRuns(db: Executor, before: Date, rows: number): Promise<number> {
  const [result] = await db.orm
    .delete(resourceRuns)
    .where(lt(resourceRuns.endedAt, before))
    .limit(rows)
  return result.affectedRows
}
