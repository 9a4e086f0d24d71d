import { writeFileSync } from 'node:fs'
import type { Comparison } from './compare.ts'
import { startFloor } from './floor.ts'
import { thisMachine } from './machine.ts'
import { type Options, parseOptions } from './options.ts'
import { type FirstFigures, measureFirst } from './phases/first.ts'
import { type IdleFigures, measureIdle } from './phases/idle.ts'
import { LOOP_PHASES, measureLoop } from './phases/reads.ts'
import { bootStorm, deleteStorm, measureStorms } from './phases/storms.ts'
import { startProduct } from './product.ts'
import { type Results, report } from './report.ts'
import { interrupted, progress, say } from './terminal.ts'

/** The page of the list has as many servers as it asks for. */
const SERVERS_LISTED = 120
/** As with reads, what is measured is a server after its first minute: until then the runtime is compiling it. */
const WARM_UP_SERVERS = 1_000

await using owned = new AsyncDisposableStack()
const options = parseOptions(process.argv.slice(2))
const results = await Promise.race([run(options, owned), interrupted()])
for (const line of report(results)) say(line)
if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(results, null, 2)}\n`)

async function run(options: Options, owned: AsyncDisposableStack): Promise<Results> {
  const { phases, servers, rounds, stormRounds } = options
  const startedAt = new Date().toISOString()
  const product = await startProduct(owned, { cells: 2, hosts: 2 }, progress)
  const idle: Record<string, IdleFigures> = {}
  if (phases.includes('idle')) Object.assign(idle, await measureIdle(product))
  progress('Making servers to read, and starting the floor ...')
  await bootStorm(product, SERVERS_LISTED, 'bench-read')
  const first: Record<string, FirstFigures> = {}
  if (phases.includes('first')) {
    progress('Asking once at each microversion ...')
    first['GET /servers/detail?limit=100'] = await measureFirst(product)
  }
  const floor = await startFloor(owned, product)
  const shared = [product.mariadb.process, product.nats.process]
  const sides = { product, floor, shared }
  const comparisons: Record<string, Comparison> = {}
  for (const name of ['token', 'get', 'list'] as const) {
    if (!phases.includes(name)) continue
    progress(`Measuring ${LOOP_PHASES[name].name} ...`)
    Object.assign(comparisons, await measureLoop(sides, LOOP_PHASES[name], rounds))
  }
  if (phases.includes('storms')) {
    progress(`Booting and deleting ${servers} servers ${stormRounds} times on each side ...`)
    for (const side of [product, floor])
      await deleteStorm(side, (await bootStorm(side, WARM_UP_SERVERS, 'bench-warm')).ids)
    Object.assign(comparisons, await measureStorms(sides, servers, stormRounds))
  }
  return { startedAt, machine: thisMachine(), readyMs: product.readyMs, idle, first, comparisons }
}
