import type { Wrong } from './comparison/compare.ts'
import type { Figures } from './figures.ts'
import type { Entry } from './record/record.ts'

/** Wrongs told in full of each kind; the file of the run has all. */
const TOLD_MAX = 20

/** The figures as text in the form of docs/explanation/reliability.md. */
export function report(figures: Figures): readonly string[] {
  const { wrong, recoveries, faultsByKind, answers5xx } = figures
  const table = (head: readonly string[], rows: readonly (readonly (string | number)[])[]) => [
    '',
    `| ${head.join(' | ')} |`,
    `|${' --- |'.repeat(head.length)}`,
    ...rows.map((row) => `| ${row.join(' | ')} |`),
  ]
  return [
    ...table(
      ['what', 'number'],
      [
        ['requests', figures.requests],
        ['done', figures.done],
        ['refused', figures.refused],
        ['without a clear answer', figures.unknown],
        ['boots accepted', figures.bootsAccepted],
        ['servers in ERROR at the end', figures.serversInError],
        ['faults', figures.faults],
        ...Object.entries(wrong),
        ['processes that ended by themselves', figures.endedByThemselves],
        ['seconds until quiet', figures.quietAfterS],
      ],
    ),
    ...table(
      ['fault', 'times', 'alone', 'recovered in s, median', 'max'],
      [...new Set([...Object.keys(faultsByKind), ...Object.keys(recoveries)])].map((kind) => {
        const { times = 0, medianS = '', maxS = '' } = recoveries[kind] ?? {}
        return [kind, faultsByKind[kind] ?? '', times, medianS, maxS]
      }),
    ),
    ...table(['5xx', 'times'], Object.entries(answers5xx)),
    '',
  ]
}

/** The violations, each with the requests that it contradicts, so that a reader can trace it. */
export function describeWrong(
  wrong: readonly Wrong[],
  entries: readonly Entry[],
): readonly string[] {
  const byRequest = new Map(entries.map((entry) => [entry.requestId, entry]))
  return [...Map.groupBy(wrong, ({ kind }) => kind)].flatMap(([kind, all]) => [
    ...all
      .slice(0, TOLD_MAX)
      .flatMap(({ text, requests }) => [
        `${kind}: ${text}`,
        ...requests.slice(-3).map((id) => `    ${describeEntry(byRequest.get(id), id)}`),
      ]),
    ...(all.length > TOLD_MAX ? [`${kind}: ${all.length - TOLD_MAX} more`] : []),
  ])
}

function describeEntry(entry: Entry | undefined, id: string): string {
  if (entry === undefined) return id
  const { method, path, status, gateway, startMs, message } = entry
  const at = (startMs / 1_000).toFixed(1)
  return `${id} ${method} ${path} at ${gateway}, second ${at}: ${status} ${message}`.trim()
}
