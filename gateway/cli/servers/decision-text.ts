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
  const { attempt, level, considered, filters, scores, lost_claims, chosen, took_ms } = decision
  const outcome =
    chosen === null ? style('bad', 'none was left') : `${style('good', chosen)} was taken`
  const lost = lost_claims.length === 0 ? '' : `  filled up meanwhile: ${lost_claims.join(', ')}\n`
  const told = isWide ? filters : filters.filter(({ refused }) => refused > 0)
  const heading = `Attempt ${attempt}, ${level}: of ${considered} considered ${outcome}, in ${took_ms} ms.\n`
  return [
    heading,
    indented(renderTable(told, FILTERS, style)),
    indented(renderTable(scores, scoreColumns(scores), style)),
    lost,
  ].join('')
}

function scoreColumns(scores: readonly Score[]): readonly Column<Score>[] {
  const parts = Object.keys(scores[0]?.parts ?? {})
  return [
    { head: 'CANDIDATE', of: ({ candidate }) => candidate },
    { head: 'SCORE', of: ({ score }) => rounded(score) },
    ...parts.map((part): Column<Score> => {
      return { head: part.toUpperCase(), of: (row) => rounded(row.parts[part] ?? 0) }
    }),
  ]
}

function rounded(value: number): number {
  return Number(value.toFixed(DECIMALS))
}

function indented(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ')
}
