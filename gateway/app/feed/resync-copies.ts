import { Failure, isFailure } from '#common/errors.ts'
import type { CellId } from '#common/ids.ts'
import type { CellRef } from '../../cell-client/client.ts'

/** Five hundred thousand of each kind in one cell. */
const PAGES_MAX = 1_000
const ROWS = 500

/** The database of a cell that is compared. */
export interface Copied {
  readonly incarnation: string
  /** True: another database has replaced the cell's, so versions may be lower than before. */
  readonly isReplaced: boolean
}

/** A page of what a cell has, as its wire operation answers. */
interface Page<View> {
  readonly incarnation: string
  readonly views: readonly View[]
  readonly isLast: boolean
}

/** How objects of one kind, which a cell has and the gateways know, are compared. */
export interface CopiedKind<Row, View> {
  /** A page of those that the gateways know in the cell, in order of id, after one. */
  readonly known: (cellId: CellId, after: string, max: number) => Promise<readonly Row[]>
  /** A page of those that the cell has, in order of id, after one; null: from the first. */
  readonly read: (after: string | null) => Promise<Page<View>>
  readonly idOf: (view: View) => string
  /** Afterwards the object is shown as the cell has it, or the cell has been told to end it. */
  readonly apply: (view: View, copy: Copied) => Promise<void>
  /** Afterwards one that the cell does not have any more is gone, or in error. */
  readonly missing: (row: Row) => Promise<void>
}

/**
 * Compares the objects that the gateways know in a cell with those that it has. Afterwards they are shown as there;
 * those that the cell no longer has are gone, or in error, and those that it should not have are being deleted.
 */
export async function resyncCopies<
  Row extends { readonly id: string; readonly cellVersion: number },
  View,
>(cell: CellRef, copy: Copied, kind: CopiedKind<Row, View>): Promise<void> {
  // Read first: what the cell accepts meanwhile is not taken for something that it has lost.
  const known = await readKnown(cell, kind)
  const views = await readViews(cell, copy, kind)
  for (const view of views) await kind.apply(view, copy)
  const had = new Set(views.map(kind.idOf))
  for (const row of known) if (!had.has(row.id)) await kind.missing(row)
}

/** Those of which the cell has said something. */
async function readKnown<Row extends { readonly id: string; readonly cellVersion: number }>(
  { id }: CellRef,
  { known }: Pick<CopiedKind<Row, never>, 'known'>,
): Promise<readonly Row[]> {
  const all: Row[] = []
  for (;;) {
    const page = await known(id, all.at(-1)?.id ?? '', ROWS)
    all.push(...page)
    if (page.length < ROWS) return all.filter(({ cellVersion }) => cellVersion > 0)
  }
}

/** Empty for a cell whose release has none of them. */
async function readViews<Row, View>(
  { name }: CellRef,
  { incarnation }: Copied,
  { read, idOf }: CopiedKind<Row, View>,
): Promise<readonly View[]> {
  const views: View[] = []
  try {
    for (let pages = 0; pages < PAGES_MAX; pages += 1) {
      const last = views.at(-1)
      const page = await read(last === undefined ? null : idOf(last))
      if (page.incarnation !== incarnation)
        throw new Failure('unavailable', `Cell ${name} changed its database meanwhile.`)
      views.push(...page.views)
      if (page.isLast) return views
    }
  } catch (error) {
    if (isFailure(error, 'unsupported')) return []
    throw error
  }
  throw new Failure('unavailable', `Cell ${name} has more rows than a copy can have.`)
}
