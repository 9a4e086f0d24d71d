import type { IdleFigures } from '../phases/idle.ts'
import { table } from '../table.ts'
import type { Noticed } from './join-one-more.ts'
import type { Results } from './measure-federation.ts'
import type { FeedFigures } from './measure-feed.ts'

/** Of a second of one core. */
const US_PER_PERCENT = 10_000

/** The results for people: lines of text. */
export function report(results: Results): readonly string[] {
  const { startedAt, machine, options, bootsPerSecond, fake } = results
  const { cells, hosts, servers } = options
  return [
    `${startedAt}  ${Object.values(machine).join(', ')}`,
    `${cells} cells of ${hosts} hosts with ${servers} servers, beside one cell of ${hosts} with as many`,
    `booted per second: ${bootsPerSecond.one.toFixed(0)} in one cell, ${bootsPerSecond.all.toFixed(0)} in all`,
    '',
    ...lists(results),
    '',
    ...choices(results),
    ...metrics(results),
    '',
    ...idle(results),
    '',
    ...feed(results),
    '',
    ...joining(results),
    '',
    `simulated hosts alone: ${fake.servers} servers on ${fake.hosts} in one process: ${fake.spawnUs.toFixed(0)} us and ${(fake.bytesPerServer / 1_024).toFixed(1)} KiB each, all looked at in ${fake.roundMs.toFixed(0)} ms`,
  ]
}

function lists({ listAlone, listOfOne, listOfAll, options }: Results): readonly string[] {
  const rows = [
    ['in one cell, the only one', listAlone],
    ['in one cell, in turns', listOfOne],
    [`in ${options.cells} cells, in turns`, listOfAll],
  ] as const
  return table(
    ['list of 1000, filtered and sorted', 'p50 ms', 'p99 ms', 'p99 ratio to it'],
    rows.map(([name, { p50Ms, p99Ms }]) => [
      name,
      p50Ms.toFixed(1),
      p99Ms.toFixed(1),
      (listOfAll.p99Ms / p99Ms).toFixed(2),
    ]),
  )
}

function choices({ choices }: Results): readonly string[] {
  const { p50Ms, p99Ms, maxMs } = choices
  return [
    `choice of a cell: p50 ${p50Ms} ms, p99 ${p99Ms} ms, max ${maxMs} ms, of ${choices.choices}; ${choices.cells} cells were chosen`,
  ]
}

function metrics({
  metrics: { readMs, freshMs, knownMs, bytes, series },
}: Results): readonly string[] {
  const size = `${series} series, ${(bytes / 1_024).toFixed(0)} KiB`
  return [
    `metrics of the federation: ${size}; the database took ${readMs.toFixed(0)} ms; a scrape ${freshMs.toFixed(0)} ms, and ${knownMs.toFixed(0)} ms within five seconds of another`,
  ]
}

function idle({ idleWithOne, idleWithAll }: Results): readonly string[] {
  const cells = (figures: IdleFigures | undefined) =>
    figures === undefined ? ['', ''] : [figures.cpuPercent.toFixed(1), figures.pssMiB.toFixed(0)]
  return table(
    ['idle', 'CPU % with one', 'PSS MiB', 'CPU % with all', 'PSS MiB'],
    Object.keys(idleWithAll).map((name) => [
      name,
      ...cells(idleWithOne[name]),
      ...cells(idleWithAll[name]),
    ]),
  )
}

function feed({ idleWithAll, feed }: Results): readonly string[] {
  const names = Object.keys(feed[0]?.cpuPercent ?? {})
  const rates = feed.map(({ changesPerSecond }) => `${changesPerSecond} a second`)
  const usPerChange = ({ changesPerSecond, cpuPercent }: FeedFigures, name: string) =>
    ((cpuPercent[name]! - idleWithAll[name]!.cpuPercent) * US_PER_PERCENT) / changesPerSecond
  return table(
    [
      'while servers change',
      ...rates.map((each) => `CPU % at ${each}`),
      ...rates.map(() => 'us each'),
    ],
    names.map((name) => [
      name,
      ...feed.map(({ cpuPercent }) => cpuPercent[name]!.toFixed(1)),
      ...feed.map((figures) => usPerChange(figures, name).toFixed(0)),
    ]),
  )
}

function joining({ join }: Results): readonly string[] {
  const row = (when: string, { read, asked }: Noticed) => [
    when,
    ...[read, asked].flatMap(({ p50Ms, p99Ms, maxMs }) =>
      [p50Ms, p99Ms, maxMs].map((ms) => ms.toFixed(1)),
    ),
  ]
  const latencies = ['p50 ms', 'p99 ms', 'max ms']
  return [
    `one more cell: takes servers ${(join.schedulableMs / 1_000).toFixed(2)} s after the command, ${(join.afterFirstBeatMs / 1_000).toFixed(2)} s after its first heartbeat`,
    ...table(
      ['a server of another cell', ...latencies, ...latencies.map((each) => `host ${each}`)],
      [
        row('before', join.before),
        row('while five are let in', join.whileLetIn),
        row('while one joins', join.whileJoining),
        row('while one joins niced', join.whileJoiningElsewhere),
      ],
    ),
  ]
}
