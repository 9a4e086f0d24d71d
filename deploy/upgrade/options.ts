import { Failure } from '#common/errors.ts'
import type { Finding } from '../doctor/finding.ts'

/** How `./weir upgrade run` goes about it. */
export interface UpgradeOptions {
  /** This release is the former one: computes come first, and databases stay as they are. */
  readonly isBack: boolean
  /** Nothing is changed. */
  readonly isDryRun: boolean
  /** False: no backup is made; undefined: it is made at the usual place. */
  readonly backupDirectory: string | false | undefined
  /** For how long each new process is watched, in milliseconds. */
  readonly watchMs: number
}

const WORD_WIDTH = 5

/** Reports what was found. Throws `conflict` where any of it is bad. */
export function assertNothingBad(
  findings: readonly Finding[],
  report: (line: string) => void,
): void {
  for (const { is, what } of findings) report(`${is.padEnd(WORD_WIDTH)} ${what}`)
  if (findings.some(({ is }) => is === 'bad'))
    throw new Failure('conflict', 'Nothing was changed: see what is bad above.')
}
