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
    file: 'cells/scheduler/select-hosts.ts',
    line: 'if (place === -1 && best.length === CANDIDATES_MAX) continue',
    replacement: 'false',
    why: 'The host is put last and taken away again: the line only saves that.',
  },
  {
    file: 'cells/scheduler/trace.ts',
    line: 'if (last === undefined || example === undefined)',
    replacement: 'false',
    why: 'Without a last filter there is no example: the first half is for the compiler.',
  },
  {
    file: 'gateway/app/quotas/charge-quota.ts',
    line: 'if (limits.size === 0) return []',
    replacement: 'false',
    why: 'Without limits no use is above one: the line only saves the question for it.',
  },
  {
    file: 'gateway/app/quotas/refund-quota.ts',
    line: 'if (released > 0) refundUsage(tx, { ownerId: projectId, resource }, released)',
    replacement: 'released >= 0',
    why: 'Giving back nothing changes nothing.',
  },
]
