import type { Clock } from '#common/clock.ts'
import type { Executor } from '#common/db/database.ts'
import { groupMembersByCell } from '../../db/server-groups.ts'

/** A server that joins a group in a cell. */
export interface GroupJoin {
  readonly groupId: string
  readonly cellId: string
  /** Undefined: it is not written yet. */
  written: { readonly reads: number; readonly elapsedAt: number } | undefined
}

/** What was read of a group. */
export interface GroupRead {
  readonly groupId: string
  /** Servers of the group by cell. */
  readonly members: ReadonlyMap<string, number>
  /** Its number: it lacks what was written later. */
  readonly nth: number
}

interface Kept {
  readonly read: Promise<GroupRead>
  readonly elapsedAt: number
}

/** A gateway knows so late that a server has left a group, or has joined it at another gateway. */
const READ_AGAIN_MS = 1_000
/** Longer than any read takes. */
const JOINS_KEPT_MS = 60_000
const READS_KEPT_MAX = 1_000

/**
 * The members of groups by cell, with those that this gateway is about to write: servers that are requested together
 * would otherwise all choose the same cell.
 */
export class GroupJoins {
  readonly #clock: Pick<Clock, 'elapsed'>
  readonly #byGroup = new Map<string, Set<GroupJoin>>()
  /** Those that are written, in that order. */
  readonly #written: GroupJoin[] = []
  readonly #kept = new Map<string, Kept>()
  #reads = 0

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#clock = clock
  }

  /** The members of the group as the database had them at most a second ago. */
  async read(db: Executor, groupId: string): Promise<GroupRead> {
    const now = this.#clock.elapsed()
    const kept = this.#kept.get(groupId)
    if (kept !== undefined && now - kept.elapsedAt < READ_AGAIN_MS) return kept.read
    this.#reads += 1
    const nth = this.#reads
    const read = groupMembersByCell(db, groupId).then((members) => ({ groupId, members, nth }))
    if (this.#kept.size >= READS_KEPT_MAX) this.#kept.clear()
    this.#kept.set(groupId, { read, elapsedAt: now })
    try {
      return await read
    } catch (error) {
      this.#kept.delete(groupId)
      throw error
    }
  }

  /** A server is to join the group in this cell. */
  add(groupId: string, cellId: string): GroupJoin {
    this.#forgetOld()
    const join: GroupJoin = { groupId, cellId, written: undefined }
    const joins = this.#byGroup.get(groupId) ?? new Set()
    this.#byGroup.set(groupId, joins.add(join))
    return join
  }

  written(join: GroupJoin): void {
    join.written = { reads: this.#reads, elapsedAt: this.#clock.elapsed() }
    this.#written.push(join)
  }

  /** It is not going to be written. */
  remove(join: GroupJoin): void {
    const joins = this.#byGroup.get(join.groupId)
    joins?.delete(join)
    if (joins?.size === 0) this.#byGroup.delete(join.groupId)
  }

  /** The members of the group at this moment: those that were read, and those that the read lacks. */
  members({ groupId, members, nth }: GroupRead): ReadonlyMap<string, number> {
    const all = new Map(members)
    for (const { cellId, written } of this.#byGroup.get(groupId) ?? [])
      if (written === undefined || nth <= written.reads) all.set(cellId, (all.get(cellId) ?? 0) + 1)
    return all
  }

  #forgetOld(): void {
    const since = this.#clock.elapsed() - JOINS_KEPT_MS
    while (this.#written.length > 0 && this.#written[0]!.written!.elapsedAt < since)
      this.remove(this.#written.shift()!)
  }
}
