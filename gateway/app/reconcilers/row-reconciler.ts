import { withinTask } from '#common/escaped.ts'
import type { IsolatedRunner } from '#common/isolated/isolated-runner.ts'
import { errorFields } from '#common/log.ts'
import { forEachRow, type Reconciler, type ReconcilerReport } from '#common/reconciler.ts'
import type { Lease } from '#common/saga/lease.ts'
import type { Json } from '#common/saga/saga.ts'
import { markRowStuck, releaseRows, takeRows } from '../../db/reconciler-rows.ts'
import type { Compute } from '../compute.ts'

/** A reconciler that does one thing for each of the rows that need it. */
export interface RowReconciler<Row> {
  readonly name: string
  readonly everyMs: number
  /**
   * The rows that need it now, a bounded number. `after`: the last of the rows before, in a round that goes on. Rows that
   * stay due though they were worked on have to come after it, or else last: they would keep the others waiting.
   */
  due(signal: AbortSignal, after?: Row): Promise<readonly Row[]>
  /** That number, where a round goes on with the next rows as long as there are so many; absent: it does not. */
  readonly batch?: number
  /** The name of the work on a row, in at most 64 characters of ASCII. */
  keyOf(row: Row): string
  work(row: Row): Promise<unknown>
  /** The most rows at a time; absent: one. */
  readonly parallel?: number
  /** Afterwards the row is not due any more; absent: it is stuck until an operator continues it. */
  readonly setAside?: (row: Row, why: string) => Promise<unknown>
  /** At the end of a round. */
  readonly after?: () => Promise<void>
}

/** A row that may have ended a process, for an isolated process. */
export interface IsolatedRow {
  readonly kind: 'row'
  readonly reconciler: string
  readonly row: string
  /** Of the process that gives it. */
  readonly lease: Lease
}

interface Trying {
  /** The rows being tried in an isolated process, so that no round waits for them. */
  readonly trying: Set<string>
}

type Guard = Pick<Compute, 'db' | 'log'> & {
  /** The lease that fences the rows of this process. */
  readonly sagas: { readonly lease: Lease }
  /** Where suspects are tried; absent: here. */
  readonly isolated?: Pick<IsolatedRunner, 'run'> | undefined
}

/**
 * A reconciler in which no row ends a process twice: a process records which rows it works on before it begins. Rows
 * that were recorded when a process ended are tried in an isolated process, and the one that ends the process there is set aside.
 */
export function byRow<Row>(each: RowReconciler<Row>, guard: Guard): Reconciler {
  const { name, everyMs } = each
  const trying = new Set<string>()
  return { name, everyMs, round: (signal) => round(each, { ...guard, trying }, signal) }
}

async function round<Row>(
  each: RowReconciler<Row>,
  guard: Guard & Trying,
  signal: AbortSignal,
): Promise<ReconcilerReport> {
  let report: ReconcilerReport = { due: 0 }
  for await (const due of batches(each, signal)) {
    for (const key of guard.trying) due.delete(key)
    if (due.size > 0) report = summed(report, await workOn(each, guard, due, signal))
  }
  return report
}

/** The rows of a round by their keys, each once. */
async function* batches<Row>(
  each: RowReconciler<Row>,
  signal: AbortSignal,
): AsyncGenerator<Map<string, Row>> {
  const seen = new Set<string>()
  let found: readonly Row[] = []
  do {
    found = await each.due(signal, found.at(-1))
    const due = new Map(found.map((row) => [each.keyOf(row), row]))
    // One that is still due is for the next round.
    for (const key of seen) due.delete(key)
    if (due.size === 0) return
    for (const key of due.keys()) seen.add(key)
    yield due
  } while (found.length === each.batch)
}

function summed(one: ReconcilerReport, other: ReconcilerReport): ReconcilerReport {
  return Object.fromEntries(
    Object.entries(other).map(([name, count]) => [name, count + (one[name] ?? 0)]),
  )
}

async function workOn<Row>(
  each: RowReconciler<Row>,
  guard: Guard & Trying,
  due: ReadonlyMap<string, Row>,
  signal: AbortSignal,
): Promise<ReconcilerReport> {
  const { db, log, sagas, isolated } = guard
  const { lease } = sagas
  const { trusted, suspect } = await takeRows(db, lease, each.name, [...due.keys()])
  const here = isolated === undefined ? [...trusted, ...suspect] : trusted
  let left = 0
  try {
    const { parallel } = each
    left = await forEachRow(here, { log, signal, parallel }, (key) =>
      withinTask({ setAside: (why) => setAside(each, guard, due.get(key)!, why) }, () =>
        each.work(due.get(key)!),
      ),
    )
    await each.after?.()
  } finally {
    await releaseRows(db, lease, each.name, here)
  }
  if (isolated !== undefined)
    for (const key of suspect) void tryIsolated(each, { ...guard, isolated }, due.get(key)!)
  return { due: due.size, left, suspect: suspect.length }
}

async function tryIsolated<Row>(
  each: RowReconciler<Row>,
  guard: Guard & Trying & { readonly isolated: Pick<IsolatedRunner, 'run'> },
  row: Row,
): Promise<void> {
  const { db, log, sagas, isolated, trying } = guard
  const { lease } = sagas
  const key = each.keyOf(row)
  const task: IsolatedRow = { kind: 'row', reconciler: each.name, row: key, lease }
  trying.add(key)
  try {
    const end = await isolated.run(task as unknown as Json)
    // The trial says nothing about the remaining row: it stays a suspect.
    if (end.kind === 'left') return
    if (end.kind === 'guilty') await setAside(each, guard, row, end.why)
    await releaseRows(db, lease, each.name, [key])
  } catch (error) {
    log.warn({ reconciler: each.name, row: key, ...errorFields(error) }, 'row stays a suspect')
  } finally {
    trying.delete(key)
  }
}

async function setAside<Row>(
  each: RowReconciler<Row>,
  { db, log }: Guard,
  row: Row,
  why: string,
): Promise<void> {
  const { name: reconciler } = each
  log.error({ reconciler, row: each.keyOf(row), why }, 'row set aside')
  if (each.setAside === undefined) await markRowStuck(db, reconciler, each.keyOf(row), why)
  else await each.setAside(row, why)
}

/** Works on that row, if it is still due, in an isolated process. */
export async function workIsolated<Row>(
  each: RowReconciler<Row> | undefined,
  { row: key }: IsolatedRow,
  signal: AbortSignal,
): Promise<null> {
  if (each === undefined) return null
  for await (const due of batches(each, signal)) {
    const row = due.get(key)
    if (row === undefined) continue
    await each.work(row)
    break
  }
  return null
}
