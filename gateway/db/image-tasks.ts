import { and, asc, desc, eq, getTableColumns, inArray, lt, notInArray, or, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import type { ImageTaskStatus } from '#common/states/image-states.ts'
import { after, orderOf, type SortColumn } from './keyset.ts'
import { imageTasks } from './schema/image.ts'

/** The parameters of an import. */
export interface ImportRequest {
  readonly method: { readonly name: 'glance-direct' | 'web-download'; readonly uri?: string }
}

/** An import, due, running or past. */
export interface ImageTask {
  readonly id: string
  readonly imageId: string
  readonly owner: string
  readonly userId: string | null
  readonly requestId: string
  readonly status: ImageTaskStatus
  readonly request: ImportRequest
  /** Why it failed; '' otherwise. */
  readonly message: string
  readonly tries: number
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly expiresAt: Date | null
}

/** Afterwards the task is pending. */
export async function insertTask(
  tx: Tx,
  task: Pick<ImageTask, 'id' | 'imageId' | 'owner' | 'userId' | 'requestId' | 'request'>,
  now: Date,
): Promise<void> {
  await tx.orm.insert(imageTasks).values({
    ...task,
    status: 'pending',
    message: '',
    tries: 0,
    createdAt: now,
    updatedAt: now,
  })
}

/** Which due tasks are looked for. */
export interface DueTasks {
  readonly now: Date
  readonly method: ImportRequest['method']['name']
  /** Owners whose turn it is not. */
  readonly except: readonly string[]
  readonly max: number
}

/** Tasks without a worker: of each owner the oldest, and the oldest of these first. */
export async function dueTasks(
  db: Executor,
  { now, method, except, max }: DueTasks,
): Promise<readonly ImageTask[]> {
  const turn = sql<number>`row_number() over (partition by ${imageTasks.owner} order by ${imageTasks.createdAt}, ${imageTasks.id})`
  const isOther = except.length === 0 ? undefined : notInArray(imageTasks.owner, [...except])
  const isOfMethod = sql`json_value(${imageTasks.request}, '$.method.name') = ${method}`
  const due = db.orm
    .select({ id: imageTasks.id, turn: turn.as('turn') })
    .from(imageTasks)
    .where(and(isDue(now), isOther, isOfMethod))
    .as('due')
  const rows = await db.orm
    .select(getTableColumns(imageTasks))
    .from(imageTasks)
    .innerJoin(due, eq(due.id, imageTasks.id))
    .where(eq(due.turn, 1))
    .orderBy(asc(imageTasks.createdAt))
    .limit(max)
  return rows.map(taskOf)
}

/** How a task is taken. */
export interface Taking {
  readonly now: Date
  readonly leaseUntil: Date
  /** How many tries it has had, this one among them. */
  readonly tries: number
}

/** Makes the task the caller's until `leaseUntil`; false when another was quicker. */
export async function takeTask(
  db: Executor,
  task: Pick<ImageTask, 'id' | 'tries'>,
  { now, leaseUntil, tries }: Taking,
): Promise<boolean> {
  const [result] = await db.orm
    .update(imageTasks)
    .set({ status: 'processing', leaseUntil, tries, updatedAt: now })
    .where(and(eq(imageTasks.id, task.id), eq(imageTasks.tries, task.tries), isDue(now)))
  return result.affectedRows === 1
}

/** Keeps the task the caller's; false when it has ended. */
export async function renewTask(db: Executor, id: string, leaseUntil: Date): Promise<boolean> {
  const [result] = await db.orm
    .update(imageTasks)
    .set({ leaseUntil })
    .where(and(eq(imageTasks.id, id), eq(imageTasks.status, 'processing')))
  return result.affectedRows === 1
}

/** For a task that is due: a process worked on it and neither ended it nor released it. */
export function isLeft({ status }: Pick<ImageTask, 'status'>): boolean {
  return status === 'processing'
}

/** How a task is given back. */
export interface Return {
  /** It may be what ended the process that had it before. */
  readonly isSuspect: boolean
  /** False: the try does not count. */
  readonly isTried: boolean
  readonly now: Date
}

/** Afterwards the task is anyone's to take. */
export async function returnTask(
  db: Executor,
  id: string,
  { isSuspect, isTried, now }: Return,
): Promise<void> {
  await db.orm
    .update(imageTasks)
    .set({
      status: isSuspect ? 'processing' : 'pending',
      leaseUntil: isSuspect ? now : null,
      tries: isTried ? sql`${imageTasks.tries}` : sql`${imageTasks.tries} - 1`,
    })
    .where(and(eq(imageTasks.id, id), eq(imageTasks.status, 'processing')))
}

/** Afterwards the task has ended, if it had not before. */
export async function endTask(
  db: Executor,
  end: Pick<ImageTask, 'id' | 'message' | 'expiresAt'> & {
    readonly status: 'success' | 'failure'
    readonly now: Date
  },
): Promise<void> {
  const { id, status, message, now, expiresAt } = end
  await db.orm
    .update(imageTasks)
    .set({ status, message, leaseUntil: null, updatedAt: now, expiresAt })
    .where(and(eq(imageTasks.id, id), inArray(imageTasks.status, ['pending', 'processing'])))
}

export async function findTask(db: Executor, id: string): Promise<ImageTask | undefined> {
  const [row] = await db.orm.select().from(imageTasks).where(eq(imageTasks.id, id))
  return row === undefined ? undefined : taskOf(row)
}

/** The tasks of an image, newest first. */
export async function tasksOfImage(db: Executor, imageId: string): Promise<readonly ImageTask[]> {
  const rows = await db.orm
    .select()
    .from(imageTasks)
    .where(eq(imageTasks.imageId, imageId))
    .orderBy(desc(imageTasks.createdAt))
  return rows.map(taskOf)
}

const SORT_COLUMNS = {
  id: imageTasks.id,
  status: imageTasks.status,
  created_at: imageTasks.createdAt,
  updated_at: imageTasks.updatedAt,
} as const
export type ImageTaskSortKey = keyof typeof SORT_COLUMNS

export interface ImageTaskPage {
  readonly status: string | undefined
  readonly sortKey: ImageTaskSortKey
  readonly isDescending: boolean
  readonly marker: string | undefined
  readonly limit: number
}

/** A page of tasks of every project; undefined when the marker is none. */
export async function listTasks(
  db: Executor,
  page: ImageTaskPage,
): Promise<readonly ImageTask[] | undefined> {
  const { isDescending } = page
  const keys: readonly SortColumn[] = [
    { column: SORT_COLUMNS[page.sortKey], isDescending },
    { column: imageTasks.id, isDescending },
  ]
  const conditions = page.status === undefined ? [] : [eq(imageTasks.status, page.status)]
  if (page.marker !== undefined) {
    const [row] = await db.orm
      .select({ key: SORT_COLUMNS[page.sortKey], id: imageTasks.id })
      .from(imageTasks)
      .where(eq(imageTasks.id, page.marker))
    if (row === undefined) return undefined
    conditions.push(after(keys, [row.key, row.id]))
  }
  const rows = await db.orm
    .select()
    .from(imageTasks)
    .where(and(...conditions))
    .orderBy(...orderOf(keys))
    .limit(page.limit)
  return rows.map(taskOf)
}

/** Forgets tasks that expired before a time; the answer is how many. */
export async function purgeTasks(db: Executor, before: Date, max: number): Promise<number> {
  const [result] = await db.orm
    .delete(imageTasks)
    .where(lt(imageTasks.expiresAt, before))
    .limit(max)
  return result.affectedRows
}

function isDue(now: Date) {
  const isLeft = and(eq(imageTasks.status, 'processing'), lt(imageTasks.leaseUntil, now))
  return or(eq(imageTasks.status, 'pending'), isLeft)
}

function taskOf(row: typeof imageTasks.$inferSelect): ImageTask {
  return {
    ...row,
    status: row.status as ImageTaskStatus,
    request: row.request as ImportRequest,
  }
}
