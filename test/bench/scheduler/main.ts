import { median, pairedRatio } from '../statistics.ts'
import { table } from '../table.ts'
import { printLine } from '../terminal.ts'
import { byHand, type Decider, product } from './deciders.ts'
import { sampleHosts } from './sample.ts'

const SIZES = [100, 1_000, 10_000]
/** Of each side, in turns. */
const ROUNDS = 9
/** So that a round takes some tens of milliseconds. */
const HOSTS_PER_ROUND = 2_000_000
const US_PER_MS = 1_000

const headings = ['Hosts in the cell', 'decision us', 'by hand us', 'decisions/s', 'of the loop']
printLine(table(headings, SIZES.map(measured)).join('\n'))

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
