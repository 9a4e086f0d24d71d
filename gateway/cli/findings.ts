import type { Operator } from './operator.ts'
import type { Emphasis } from './output/style.ts'
import type { Listing } from './output/view.ts'

/** The result of one check. */
export interface Finding {
  readonly check: string
  readonly result: 'ok' | 'failed' | 'unknown'
  readonly detail: string
}

const EMPHASES: Readonly<Record<Finding['result'], Emphasis>> = {
  ok: 'success',
  failed: 'error',
  unknown: 'muted',
}

export const FINDINGS: Listing<Finding> = {
  plural: 'findings',
  nameOf: ({ check }) => check,
  columns: [
    { head: 'CHECK', of: ({ check }) => check },
    { head: 'RESULT', of: ({ result }) => result, emphasis: ({ result }) => EMPHASES[result] },
    { head: 'DETAIL', of: ({ detail }) => detail },
  ],
}

/** The command fails where something did, and is partial where something could not be seen. */
export function endOfFindings(operator: Operator, findings: readonly Finding[]): void {
  const has = (result: Finding['result']) => findings.some((each) => each.result === result)
  if (has('failed')) operator.endsAs('failed')
  else if (has('unknown')) operator.endsAs('partial')
}
