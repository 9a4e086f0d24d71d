import type { ProcessIdentity } from '#deploy/process/process-identity.ts'
import { closedLoop } from '../closed-loop.ts'
import { type Counted, counted, figures, type Run, type SideFigures } from '../compare.ts'
import type { Product } from '../product.ts'
import { pairedRatio } from '../statistics.ts'
import { bootStorm, CONCURRENCY, deleteStorm } from './storms.ts'

/** One way of several to ask a product for the same. */
export interface Variant {
  readonly name: string
  /** Absent: the one that all are measured on. */
  readonly product?: Product
  readonly run: (round: number) => Promise<Run>
}

/** How a way does beside the first one. */
export interface VariantFigures extends SideFigures {
  readonly ratio: { readonly perSecond: number; readonly allCpu: number }
}

export type Variants = Readonly<Record<string, VariantFigures>>

const WARM_UP_MS = 2_000
const RUN_MS = 1_000
/** What many clients at once are held against is what 16 get. */
const CROWDS = [CONCURRENCY, 64, 150] as const

/** A read by a user, and by an administrator. */
export async function measureAdministrator(product: Product, rounds: number): Promise<Variants> {
  const { origin, requests, oneAsAdmin } = product
  const readBy = async (request: Buffer, durationMs: number) => {
    const measured = await closedLoop({ origin, request, concurrency: CONCURRENCY, durationMs })
    return { ...measured, operations: measured.requests }
  }
  const name = `GET /servers/{id} c=${CONCURRENCY}`
  const readers = [
    { name, request: requests.one },
    { name: `${name} as administrator`, request: oneAsAdmin },
  ]
  for (const { request } of readers) await readBy(request, WARM_UP_MS)
  return inTurns(
    product,
    readers.map((reader) => ({ name: reader.name, run: () => readBy(reader.request, RUN_MS) })),
    rounds,
  )
}

/** Boots without a network, and with one. */
export function measureNetwork(
  product: Product,
  servers: number,
  rounds: number,
): Promise<Variants> {
  const name = `boots, ${servers} at c=${CONCURRENCY}`
  const create = (server: string) => product.requests.create(server)
  return measureBoots(product, servers, rounds, [
    { name, create, concurrency: CONCURRENCY },
    { name: `${name} with a network`, create: product.createOnNetwork, concurrency: CONCURRENCY },
  ])
}

/** Boots with a network by ever more clients at once. */
export function measureConnections(
  product: Product,
  servers: number,
  rounds: number,
): Promise<Variants> {
  const crowds = CROWDS.map((concurrency) => ({
    name: `boots with a network, ${servers} at c=${concurrency}`,
    create: product.createOnNetwork,
    concurrency,
  }))
  return measureBoots(product, servers, rounds, crowds)
}

/** A way to boot. */
export interface BootVariant {
  readonly name: string
  readonly create: (name: string) => Buffer
  readonly concurrency: number
}

/** What was booted is deleted before the next way has its turn, so that all find as many servers. */
export async function measureBoots(
  product: Product,
  servers: number,
  rounds: number,
  ways: readonly BootVariant[],
): Promise<Variants> {
  let made: readonly string[] = []
  const variants = ways.map(({ name, create, concurrency }, place) => ({
    name,
    run: async (round: number) => {
      const booter = { ...product, requests: { create }, concurrency }
      const { ids, run } = await bootStorm(booter, servers, `bench-${place}-${round}`)
      made = ids
      return run
    },
  }))
  return inTurns(product, variants, rounds, () => deleteStorm(product, made))
}

/** Runs each in its turn, as often after the others as before them, and holds each against the first. */
export function inTurns(
  product: Product,
  variants: readonly Variant[],
  rounds: number,
  afterEach: () => Promise<unknown> = async () => {},
): Promise<Variants> {
  return inRounds(
    product,
    Array.from({ length: rounds }, (_, round) =>
      round % 2 === 0 ? variants : variants.toReversed(),
    ),
    afterEach,
  )
}

/** Runs each where the one before it left off, and holds each against the first. */
export function inSequence(
  product: Product,
  variants: readonly Variant[],
  rounds: number,
): Promise<Variants> {
  return inRounds(product, new Array<readonly Variant[]>(rounds).fill(variants))
}

async function inRounds(
  product: Product,
  rounds: readonly (readonly Variant[])[],
  afterEach: () => Promise<unknown> = async () => {},
): Promise<Variants> {
  const variants = rounds[0]!
  const runs = new Map<string, Counted[]>(variants.map(({ name }) => [name, []]))
  for (const [round, ordered] of rounds.entries())
    for (const { name, product: on = product, run } of ordered) {
      const shared: readonly ProcessIdentity[] = [on.mariadb.process, on.nats.process]
      runs.get(name)!.push(await counted(on, shared, () => run(round)))
      await afterEach()
    }
  const first = runs.get(variants[0]!.name)!
  const ratio = (own: readonly Counted[], of: (run: Counted) => number) =>
    pairedRatio(own.map(of), first.map(of))
  return Object.fromEntries(
    [...runs].map(([name, own]) => [
      name,
      {
        ...figures(own),
        ratio: {
          perSecond: ratio(own, (each) => each.perSecond),
          allCpu: ratio(own, (each) => each.cpuUs + each.sharedCpuUs),
        },
      },
    ]),
  )
}
