import type { components } from '#openapi/federation.gen.ts'
import type { Style } from '../output/style.ts'
import { type Column, renderTable } from '../output/table.ts'

export type Decision = components['schemas']['Decision']
type Filter = Decision['filters'][number]
type Score = Decision['scores'][number]

const FILTERS: readonly Column<Filter>[] = [
  { head: 'FILTER', of: ({ name }) => name },
  { head: 'REFUSED', of: ({ refused }) => refused },
  {
    head: 'FOR EXAMPLE',
    of: ({ examples }) =>
      examples.map(({ candidate, reason }) => `${candidate}: ${reason}`).join('; '),
  },
]
const DECIMALS = 3

/** A decision for people: who was considered, what each filter refused, how the rest scored. */
export function decisionText(decision: Decision, isWide: boolean, style: Style): string {
  const { filters, scores, lost_claims } = decision
  const lost = lost_claims.length === 0 ? '' : `  filled up meanwhile: ${lost_claims.join(', ')}\n`
  const shown = isWide ? filters : filters.filter(({ refused }) => refused > 0)
  return [
    heading(decision, style),
    policyLine(decision),
    indented(renderTable(shown, FILTERS, style)),
    indented(renderTable(scores, scoreColumns(scores, isWide), style)),
    lost,
  ].join('')
}

function heading(decision: Decision, style: Style): string {
  const { attempt, level, cell, considered, chosen, took_ms, emptied_by } = decision
  const where = cell === null ? '' : ` in cell ${cell}`
  const end = emptied_by === null ? 'none was left' : `${emptied_by} removed the last`
  const outcome = chosen === null ? style('error', end) : `${style('success', chosen)} was chosen`
  return `Attempt ${attempt}, ${level}${where}: of ${considered} considered ${outcome}, in ${took_ms} ms.\n`
}

const BOUND_BY = {
  hint: 'a scheduler hint chose it',
  project: 'it applies to the project',
  flavor: 'it applies to the flavor',
  default: 'it is the default',
} as const

function policyLine({ policy }: Decision): string {
  return policy === null
    ? ''
    : `  Placement policy ${policy.name} applied: ${BOUND_BY[policy.bound_by]}.\n`
}

/** Weighers that gave every candidate 0 explain nothing; only a wide table has them. */
function scoreColumns(scores: readonly Score[], isWide: boolean): readonly Column<Score>[] {
  const parts = Object.keys(scores[0]?.parts ?? {}).filter(
    (part) => isWide || scores.some((row) => row.parts[part] !== 0),
  )
  return [
    { head: 'CANDIDATE', of: ({ candidate }) => candidate },
    { head: 'SCORE', of: ({ score }) => rounded(score) },
    ...parts.map((part): Column<Score> => {
      return { head: headOf(part), of: (row) => rounded(row.parts[part] ?? 0) }
    }),
  ]
}

/** `freeMemoryMb` is headed FREE MEMORY MB. */
function headOf(part: string): string {
  return part.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ').toUpperCase()
}

function rounded(value: number): number {
  return Number(value.toFixed(DECIMALS))
}

function indented(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ')
}
