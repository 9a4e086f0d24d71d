import { writeFileSync } from 'node:fs'
import type { Comparison, Sides } from './compare.ts'
import { startFloor } from './floor.ts'
import { thisMachine } from './machine.ts'
import { type Options, parseOptions } from './options.ts'
import { type BatchFigures, measureBatch } from './phases/batch.ts'
import { type ContentionFigures, measureContention } from './phases/contention.ts'
import { type FirstFigures, measureFirst } from './phases/first.ts'
import { type IdleFigures, measureIdle } from './phases/idle.ts'
import { type Held, measureMemory, readHeld } from './phases/memory.ts'
import { measureNetworks } from './phases/networks.ts'
import { measurePages, type PageFigures } from './phases/pages.ts'
import { LOOP_PHASES, measureLoop } from './phases/reads.ts'
import { bootStorm, deleteStorm, measureStorms } from './phases/storms.ts'
import { measureTraces } from './phases/traces.ts'
import {
  measureAdministrator,
  measureConnections,
  measureNetwork,
  type Variants,
} from './phases/variants.ts'
import { measureVolumes } from './phases/volumes.ts'
import { type Product, startProduct } from './product.ts'
import { type Results, report } from './report.ts'
import { interrupted, printLine, progress } from './terminal.ts'

/** The page of the list has as many servers as it asks for. */
const SERVERS_LISTED = 120
/** Measurements begin when the process is warm, as for reads: the runtime compiles the code during the first minute. */
const WARM_UP_SERVERS = 1_000

await using owned = new AsyncDisposableStack()
const options = parseOptions(process.argv.slice(2))
const results = await Promise.race([run(options, owned), interrupted()])
for (const line of report(results)) printLine(line)
if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(results, null, 2)}\n`)

async function run(options: Options, owned: AsyncDisposableStack): Promise<Results> {
  const { phases } = options
  const startedAt = new Date().toISOString()
  const product = await startProduct(owned, { cells: 2, hosts: 2 }, progress)
  const atStart = await readHeld(product, 0)
  const { mariadb, nats, processes } = product
  const idle: Record<string, IdleFigures> = {}
  if (phases.includes('idle')) {
    progress('Watching it idle for a minute ...')
    const all = { ...processes, mariadb: mariadb.process, nats: nats.process }
    Object.assign(idle, await measureIdle(all))
  }
  progress('Making servers to read, and starting the floor ...')
  await bootStorm(product, SERVERS_LISTED, 'bench-read')
  const first: Record<string, FirstFigures> = {}
  if (phases.includes('first')) {
    progress('Asking once at each microversion ...')
    first['GET /servers/detail?limit=100'] = await measureFirst(product)
  }
  const sides = {
    product,
    floor: await startFloor(owned, product),
    shared: [mariadb.process, nats.process],
  }
  const reads = await compareReads(options, sides)
  const administrator = await readsByAdministrator(options, product)
  const pages: Record<string, PageFigures> = {}
  if (phases.includes('pages')) {
    progress('Asking for pages of a thousand ...')
    pages['GET /servers/detail?limit=1000 c=8'] = await measurePages(product)
  }
  const contended = await contention(options, product)
  return {
    startedAt,
    machine: thisMachine(),
    readyMs: product.readyMs,
    idle,
    first,
    comparisons: { ...reads, ...(await compareStorms(options, sides)) },
    variants: {
      ...administrator,
      ...(await bootsOfMany(options, product)),
      ...(await volumes(options, product)),
      ...(await traced(options, owned, product)),
      ...contended.variants,
    },
    pages,
    batches: await batches(options, product),
    retries: contended.retries,
    memory: phases.includes('memory') ? [atStart, ...(await watchMemory(options, product))] : [],
  }
}

type Comparisons = Readonly<Record<string, Comparison>>

async function compareReads({ phases, rounds }: Options, sides: Sides): Promise<Comparisons> {
  const comparisons: Record<string, Comparison> = {}
  for (const name of ['token', 'get', 'list'] as const) {
    if (!phases.includes(name)) continue
    progress(`Measuring ${LOOP_PHASES[name].name} ...`)
    Object.assign(comparisons, await measureLoop(sides, LOOP_PHASES[name], rounds))
  }
  return comparisons
}

async function readsByAdministrator(
  { phases, rounds }: Options,
  product: Product,
): Promise<Variants> {
  if (!phases.includes('administrator')) return {}
  progress('Reading as a user and as an administrator ...')
  return measureAdministrator(product, rounds)
}

async function compareStorms(options: Options, sides: Sides): Promise<Comparisons> {
  const { phases, servers, stormRounds } = options
  if (!phases.includes('storms')) return {}
  progress(`Booting and deleting ${servers} servers ${stormRounds} times on each side ...`)
  for (const side of [sides.product, sides.floor])
    await deleteStorm(side, (await bootStorm(side, WARM_UP_SERVERS, 'bench-warm')).ids)
  return measureStorms(sides, servers, stormRounds)
}

async function bootsOfMany(options: Options, product: Product): Promise<Variants> {
  const { phases, servers, stormRounds } = options
  const ways = {
    network: measureNetwork,
    networks: measureNetworks,
    connections: measureConnections,
  }
  const asked = (['network', 'networks', 'connections'] as const).filter((name) =>
    phases.includes(name),
  )
  if (asked.length === 0) return {}
  progress(`Booting ${servers} servers ${stormRounds} times in each way of ${asked.join(', ')} ...`)
  const warm = { ...product, requests: { create: product.createOnNetwork } }
  await deleteStorm(product, (await bootStorm(warm, WARM_UP_SERVERS, 'bench-warm')).ids)
  const variants: Record<string, Variants[string]> = {}
  for (const name of asked) Object.assign(variants, await ways[name](product, servers, stormRounds))
  return variants
}

async function traced(
  options: Options,
  owned: AsyncDisposableStack,
  product: Product,
): Promise<Variants> {
  if (!options.phases.includes('traces')) return {}
  progress('Starting a deployment that sends spans to a collector ...')
  return measureTraces(owned, product, options, progress)
}

async function volumes({ phases, rounds }: Options, product: Product): Promise<Variants> {
  if (!phases.includes('volumes')) return {}
  progress('Attaching and detaching a thousand volumes ...')
  return measureVolumes(product, rounds)
}

async function batches(
  { phases, servers, stormRounds }: Options,
  product: Product,
): Promise<Readonly<Record<string, BatchFigures>>> {
  if (!phases.includes('batch')) return {}
  progress(`Requesting ${servers} servers at once, ${stormRounds} times ...`)
  await deleteStorm(product, (await bootStorm(product, WARM_UP_SERVERS, 'bench-warm')).ids)
  return measureBatch(product, servers, stormRounds)
}

async function contention(
  { phases, stormRounds }: Options,
  product: Product,
): Promise<ContentionFigures> {
  if (!phases.includes('contention')) return { variants: {}, retries: {} }
  progress(`Booting servers that want the same room ${stormRounds} times ...`)
  await deleteStorm(product, (await bootStorm(product, WARM_UP_SERVERS, 'bench-warm')).ids)
  return measureContention(product, stormRounds)
}

function watchMemory({ boots }: Options, product: Product): Promise<readonly Held[]> {
  progress(`Watching memory over ${boots} boots ...`)
  return measureMemory(product, boots, progress)
}
