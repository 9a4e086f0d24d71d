import { median, pairedRatio } from '../statistics.ts'
import { table } from '../table.ts'
import { interrupted, printLine, progress } from '../terminal.ts'
import { byHand, type Decider, product } from './deciders.ts'
import { openGatewaySite } from './gateway-site.ts'
import { measureChoices } from './measure-choices.ts'
import { sampleHosts } from './sample.ts'

const SIZES = [100, 1_000, 10_000]
/** Of each side, in turns. */
const ROUNDS = 9
/** So that a round takes some tens of milliseconds. */
const HOSTS_PER_ROUND = 2_000_000
const US_PER_MS = 1_000

const FEDERATION = { cells: 200, hostsPerCell: 500 }

const headings = ['Hosts in the cell', 'decision us', 'by hand us', 'decisions/s', 'of the loop']
printLine(table(headings, SIZES.map(measured)).join('\n'))
await using owned = new AsyncDisposableStack()
for (const line of await Promise.race([choices(owned), interrupted()])) printLine(line)

async function choices(owned: AsyncDisposableStack): Promise<readonly string[]> {
  const { cells, hostsPerCell } = FEDERATION
  progress(`Writing the index of ${cells} cells of ${hostsPerCell} hosts ...`)
  const site = await openGatewaySite(owned, FEDERATION)
  progress('Choosing cells ...')
  const figures = await measureChoices(site)
  const headings = [
    `Choice among ${cells} cells of ${hostsPerCell} hosts`,
    ...['decisions', 'p50 ms', 'p99 ms', 'longest ms'],
  ]
  const rows = figures.map(({ name, decisions, p50Ms, p99Ms, longestMs }) => [
    name,
    decisions.toLocaleString('en'),
    ...[p50Ms, p99Ms, longestMs].map((ms) => ms.toFixed(2)),
  ])
  return ['', ...table(headings, rows)]
}

function measured(hosts: number): readonly string[] {
  const decisions = Math.ceil(HOSTS_PER_ROUND / hosts)
  const [scheduler, loop] = [product(sampleHosts(hosts)), byHand(sampleHosts(hosts))]
  const times: { readonly product: number[]; readonly floor: number[] } = { product: [], floor: [] }
  // The first runs are the compiler's.
  for (const warmUp of [scheduler, loop]) warmUp(decisions)
  for (let round = 0; round < ROUNDS; round += 1) {
    times.product.push(usEach(scheduler, decisions))
    times.floor.push(usEach(loop, decisions))
  }
  const each = median(times.product)
  return [
    String(hosts),
    each.toFixed(1),
    median(times.floor).toFixed(1),
    Math.round(1e6 / each).toLocaleString('en'),
    `${Math.round(100 / pairedRatio(times.product, times.floor))} %`,
  ]
}

function usEach(decide: Decider, decisions: number): number {
  const began = performance.now()
  decide(decisions)
  return ((performance.now() - began) * US_PER_MS) / decisions
}
