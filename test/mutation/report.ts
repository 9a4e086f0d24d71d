import { readFileSync } from 'node:fs'
import type { MutantResult } from '@stryker-mutator/api/core'
import { EQUIVALENT } from './equivalent.ts'

export interface Score {
  readonly killed: number
  /** Named in `equivalent.ts`. */
  readonly equivalent: number
  readonly survived: readonly string[]
}

/** What became of the mutants: those that do not load count for nothing, one that hangs its tests is killed. */
export function scoreOf(mutants: readonly MutantResult[]): Score {
  const alive = mutants.filter(({ status }) => status === 'Survived' || status === 'NoCoverage')
  const isKilled = ({ status }: MutantResult) => status === 'Killed' || status === 'Timeout'
  const survived = alive.filter((mutant) => !isEquivalent(mutant))
  return {
    killed: mutants.filter(isKilled).length,
    equivalent: alive.length - survived.length,
    survived: survived.map(describe),
  }
}

/** Killed of all that can be killed, in percent. */
export function percentage({ killed, survived }: Score): string {
  const all = killed + survived.length
  return all === 0 ? '100.0' : ((100 * killed) / all).toFixed(1)
}

function isEquivalent(mutant: MutantResult): boolean {
  const { file, line } = placeOf(mutant)
  return EQUIVALENT.some(
    (each) =>
      each.file === file &&
      each.line === lineText(file, line) &&
      each.replacement === mutant.replacement,
  )
}

function describe(mutant: MutantResult): string {
  const { file, line } = placeOf(mutant)
  const tried = mutant.status === 'NoCoverage' ? 'no test runs it' : 'no test fails'
  return `${file}:${line}  ${lineText(file, line)}\n    ${mutant.mutatorName}: ${mutant.replacement}  (${tried})`
}

function placeOf({ fileName, location }: MutantResult) {
  return { file: fileName.replace(`${process.cwd()}/`, ''), line: location.start.line }
}

function lineText(file: string, line: number): string {
  return readFileSync(file, 'utf8').split('\n')[line - 1]?.trim() ?? ''
}
