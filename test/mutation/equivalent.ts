/** A mutant that no test can kill, because the program does the same with it. */
export interface Equivalent {
  readonly file: string
  /** The line as it stands in the file, without the spaces around it. */
  readonly line: string
  /** What the mutant puts in place of a part of the line. */
  readonly replacement: string
  readonly why: string
}

export const EQUIVALENT: readonly Equivalent[] = [
  {
    file: 'cells/placement/group.ts',
    line: 'const ANY_NUMBER = 2 ** 31 - 1',
    replacement: '2 ** 31 + 1',
    why: 'No group is as large as either.',
  },
  {
    file: 'cells/placement/group.ts',
    line: "if (!(await join(hostId, policy === 'anti-affinity' ? maxPerHost : ANY_NUMBER, false))) {",
    replacement: 'true',
    why: 'The slot of a host is opened with that host: it counts no other one.',
  },
  {
    file: 'cells/placement/release.ts',
    line: 'if (first.group_id !== null && first.host_id !== null)',
    replacement: 'true',
    why: 'A consumer in no group leaves none: the line only saves the statements.',
  },
  {
    file: 'cells/placement/release.ts',
    line: 'if (first.group_id !== null && first.host_id !== null)',
    replacement: 'first.group_id !== null || first.host_id !== null',
    why: 'Both are null, or neither: they are of one row.',
  },
  {
    file: 'cells/placement/release.ts',
    line: 'for (const resourceClass of Object.values(RESOURCE_CLASSES)) amounts.delete(resourceClass)',
    replacement: ';',
    why: 'No custom class has the name of a counted one: the line only saves the statements.',
  },
  {
    file: 'cells/scheduler/host-table.ts',
    line: 'const sorted = states.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))',
    replacement: 'true',
    why: 'A stable sort leaves the later of two hosts where it is for 0 and for 1.',
  },
  {
    file: 'cells/scheduler/host-table.ts',
    line: 'const sorted = states.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))',
    replacement: 'false',
    why: 'A stable sort leaves the later of two hosts where it is for 0 and for 1.',
  },
  {
    file: 'cells/scheduler/host-table.ts',
    line: 'const sorted = states.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))',
    replacement: 'a.name >= b.name',
    why: 'A stable sort leaves the later of two hosts where it is for 0 and for 1.',
  },
  {
    file: 'cells/scheduler/host-table.ts',
    line: 'const sorted = states.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))',
    replacement: 'a.name <= b.name',
    why: 'A stable sort leaves the later of two hosts where it is for 0 and for 1.',
  },
  {
    file: 'cells/scheduler/host-table.ts',
    line: 'return place === undefined ? undefined : this.#states[place]',
    replacement: 'false',
    why: 'A list has nothing at no place: the line is for the compiler.',
  },
  {
    file: 'cells/scheduler/host-table.ts',
    line: 'if (known !== undefined) return known',
    replacement: 'false',
    why: 'The same text has the same fingerprint: the line only saves making it again.',
  },
  {
    file: 'cells/scheduler/host-table.ts',
    line: 'fingerprints.set(value, made)',
    replacement: ';',
    why: 'The same text has the same fingerprint: the line only saves making it again.',
  },
  {
    file: 'cells/scheduler/judge-hosts.ts',
    line: 'for (let place = 0; place < count; place += 1) left[place] = place',
    replacement: 'place <= count',
    why: 'A typed array takes nothing behind its end.',
  },
  {
    file: 'cells/scheduler/judge-hosts.ts',
    line: 'if (!passes.includes(false)) return count',
    replacement: 'false',
    why: 'Where all kinds pass, so do all hosts: the line only saves going through them.',
  },
  {
    file: 'cells/scheduler/rank-hosts.ts',
    line: 'if (value < low) low = value',
    replacement: 'value <= low',
    why: 'It is the same value.',
  },
  {
    file: 'cells/scheduler/rank-hosts.ts',
    line: 'if (value > high) high = value',
    replacement: 'value >= high',
    why: 'It is the same value.',
  },
  {
    file: 'cells/scheduler/rank-hosts.ts',
    line: 'if (factor === 0) return',
    replacement: 'false',
    why: 'Adding nothing changes no score: the line only saves going through the hosts.',
  },
  {
    file: 'cells/scheduler/rank-hosts.ts',
    line: 'for (let nth = 0; nth < count; nth += 1)',
    replacement: 'nth <= count',
    why: 'The score behind the last host is read by none.',
  },
  {
    file: 'cells/scheduler/rank-hosts.ts',
    line: 'if (best.length === CANDIDATES_MAX && score <= scores[best[CANDIDATES_MAX - 1]!]!) continue',
    replacement: 'false',
    why: 'A host that is no better than the last of the best is taken out again: the line only saves putting it in.',
  },
  {
    file: 'cells/scheduler/rank-hosts.ts',
    line: 'if (best.length === CANDIDATES_MAX && score <= scores[best[CANDIDATES_MAX - 1]!]!) continue',
    replacement: 'score < scores[best[CANDIDATES_MAX - 1]!]!',
    why: 'A host that is no better than the last of the best is taken out again: the line only saves putting it in.',
  },
  {
    file: 'cells/scheduler/rank-hosts.ts',
    line: 'if (best.length === CANDIDATES_MAX && score <= scores[best[CANDIDATES_MAX - 1]!]!) continue',
    replacement: 'best.length !== CANDIDATES_MAX',
    why: 'A host that is no better than the last of the best is taken out again: the line only saves putting it in.',
  },
  {
    file: 'cells/scheduler/rank-hosts.ts',
    line: 'if (best.length === CANDIDATES_MAX && score <= scores[best[CANDIDATES_MAX - 1]!]!) continue',
    replacement: 'CANDIDATES_MAX + 1',
    why: 'A host that is no better than the last of the best is taken out again: the line only saves putting it in.',
  },
  {
    file: 'cells/scheduler/rank-hosts.ts',
    line: 'if (best.length === CANDIDATES_MAX && score <= scores[best[CANDIDATES_MAX - 1]!]!) continue',
    replacement: 'true',
    why: 'While there are fewer, there is no last of them to compare with.',
  },
  {
    file: 'cells/scheduler/rank-hosts.ts',
    line: 'while (rank > 0 && score > scores[best[rank - 1]!]!) rank -= 1',
    replacement: 'true',
    why: 'Before the first of the best is none to compare with.',
  },
  {
    file: 'cells/scheduler/rank-hosts.ts',
    line: 'while (rank > 0 && score > scores[best[rank - 1]!]!) rank -= 1',
    replacement: 'rank >= 0',
    why: 'Before the first of the best is none to compare with.',
  },
  {
    file: 'cells/scheduler/trace.ts',
    line: 'if (last === undefined || example === undefined)',
    replacement: 'false',
    why: 'Without a last filter there is no example: the first half is for the compiler.',
  },
  {
    file: 'cells/scheduler/weigher.ts',
    line: 'for (let place = 0; place < column.length; place += 1) column[place] = scores[kindOf[place]!]!',
    replacement: 'place <= column.length',
    why: 'A typed array takes nothing behind its end.',
  },
  {
    file: 'common/saga/stuck.ts',
    line: 'const asked = ids.length === 0 ? [] : await select().where(inArray(sagas.id, [...ids]))',
    replacement: 'false',
    why: 'No saga has one of no ids: the line only saves the statement.',
  },
  {
    file: 'gateway/app/feed/apply-rows.ts',
    line: 'if (begun.length === 0) return',
    replacement: 'false',
    why: 'Recording no actions changes nothing: the line only saves the statements.',
  },
  {
    file: 'gateway/app/feed/cell-feed.ts',
    line: 'if (isUnreachable === this.#wasUnreachable) return',
    replacement: 'false',
    why: 'Only a change of the row is told of: the line only saves the statement.',
  },
  {
    file: 'gateway/app/feed/cell-feed.ts',
    line: 'former?.unsubscribe()',
    replacement: 'former.unsubscribe',
    why: 'A round listens before it reads, so there is a former subscription: the mark is for the compiler.',
  },
  {
    file: 'gateway/app/feed/cell-feed.ts',
    line: 'this.#queue.clear()',
    replacement: ';',
    why: 'A waiting batch that does not continue the applied changes is skipped or dropped anyway: the line only frees its memory sooner.',
  },
  {
    file: 'gateway/app/feed/cell-feed.ts',
    line: 'if (this.#heartbeat === undefined || this.#at === undefined) return false',
    replacement: 'false',
    why: 'The first half alone decides: a position that was never reported equals the one at which the cell was last caught up.',
  },
  {
    file: 'gateway/app/feed/feeds.ts',
    line: 'await feed?.running[Symbol.asyncDispose]()',
    replacement: 'feed.running',
    why: 'Only feeds that there are, are stopped: the mark is for the compiler.',
  },
  {
    file: 'gateway/app/feed/feeds.ts',
    line: 'await feed?.feed[Symbol.asyncDispose]()',
    replacement: 'feed.feed',
    why: 'Only feeds that there are, are stopped: the mark is for the compiler.',
  },
  {
    file: 'gateway/app/feed/apply-volume-snapshots.ts',
    line: "return body.kind === 'volume-snapshot-deleted' ? [body.snapshotId] : []",
    replacement: 'true',
    why: 'A row about anything else names no snapshot, and there is none to lock.',
  },
  {
    file: 'gateway/app/feed/apply-volume-snapshots.ts',
    line: "return body.kind === 'volume-snapshot-deleted' ? [body.snapshotId] : []",
    replacement: '["Stryker was here"]',
    why: 'No snapshot has this id, so no other is locked.',
  },
  {
    file: 'gateway/app/feed/apply-volume-snapshots.ts',
    line: "} else if (body.kind === 'volume-snapshot-deleted') {",
    replacement: 'true',
    why: 'A row about anything else names no snapshot, and none is found.',
  },
  {
    file: 'gateway/app/feed/apply-volumes.ts',
    line: "const names = body.kind === 'volume-deleted' || body.kind === 'volume-released'",
    replacement: 'true',
    why: 'A row about anything else names no volume, and there is none to lock.',
  },
  {
    file: 'gateway/app/feed/apply-volumes.ts',
    line: 'return names ? [body.volumeId] : []',
    replacement: '["Stryker was here"]',
    why: 'No volume has this id, so no other is locked.',
  },
  {
    file: 'gateway/app/feed/apply-volumes.ts',
    line: 'if (ids.length === 0) return',
    replacement: 'false',
    why: 'Without rows about volumes nothing is locked or applied: the line only saves the loop.',
  },
  {
    file: 'gateway/app/feed/apply-volumes.ts',
    line: "} else if (body.kind === 'volume-released') {",
    replacement: 'true',
    why: 'A row about anything else names no volume, and none is found.',
  },
  {
    file: 'gateway/app/feed/ended-volume-work.ts',
    line: "body.kind === 'volume' ||",
    replacement: 'true',
    why: 'Rows about anything else name no request.',
  },
  {
    file: 'gateway/app/feed/resync.ts',
    line: 'for (let pages = 0; pages < PAGES_MAX; pages += 1) {',
    replacement: 'pages <= PAGES_MAX',
    why: 'No cell has as many pages as either.',
  },
  {
    file: 'gateway/app/feed/resync.ts',
    line: 'await applyOwnMigrations(tx, cell.id, page.migrations ?? [])',
    replacement: '["Stryker was here"]',
    why: 'Rows that are not migrations of a server of the cell are left out.',
  },
  {
    file: 'gateway/app/quotas/charge-quota.ts',
    line: 'if (limits.size === 0) return []',
    replacement: 'false',
    why: 'Without limits no use is above one: the line only saves the question for it.',
  },
  {
    file: 'gateway/app/quotas/refund-quota.ts',
    line: 'if (released > 0) queueUsageRefund(tx, { ownerId: projectId, resource }, released)',
    replacement: 'released >= 0',
    why: 'Giving back nothing changes nothing.',
  },
  {
    file: 'common/saga/lease.ts',
    line: 'if (seized !== undefined) this.#set(seized, clock.elapsed())',
    replacement: 'true',
    why: 'Of a lease that is not held the time of its renewal is not read.',
  },
  {
    file: 'common/saga/lease.ts',
    line: 'if (each.#lease !== leases[at]) continue',
    replacement: 'false',
    why: 'A lease that was let go meanwhile is not held, and the next hold sets its time.',
  },
  {
    file: 'common/saga/lease.ts',
    line: 'return this.#renewal === undefined && wasRequested && this.#isOlderThan(RENEWED_ALONG_AFTER)',
    replacement: 'true',
    why: 'A lease that is being renewed may be renewed twice: the line only saves that.',
  },
  {
    file: 'common/saga/lease.ts',
    line: 'const RENEWALS: Statement[] = []',
    replacement: '["Stryker was here"]',
    why: 'The first entry is of no leases, which are never renewed.',
  },
  {
    file: 'common/saga/lease.ts',
    line: 'return row === undefined ? undefined : { name, ...row }',
    replacement: 'false',
    why: 'A lease without a holder is not that of the one who asks either.',
  },
]
