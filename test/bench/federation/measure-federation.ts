import { callApi, type Session } from '#deploy/api/session.ts'
import { existingState } from '#deploy/deployment/state.ts'
import type { ProcessIdentity } from '#deploy/process/process-identity.ts'
import { type Machine, thisMachine } from '../machine.ts'
import { type IdleFigures, measureIdle } from '../phases/idle.ts'
import { bootStorm } from '../phases/storms.ts'
import { adminOf, type Product, SERVERS, startProduct } from '../product.ts'
import { type AddedCell, addCells } from './add-cells.ts'
import { type JoinFigures, joinOneMore } from './join-one-more.ts'
import { type FakeFigures, measureFake } from './measure-fake.ts'
import { type FeedFigures, measureFeed } from './measure-feed.ts'
import { type ListFigures, measureLists } from './measure-lists.ts'
import type { Options } from './options.ts'
import { makeProject, type Project } from './project.ts'
import { type ChoiceFigures, readChoices } from './read-choices.ts'
import { type MetricsFigures, readMetrics } from './read-metrics.ts'

/** Everything one run found out. */
export interface Results {
  readonly startedAt: string
  readonly machine: Machine
  readonly options: Options
  readonly fake: FakeFigures
  /** Of the project whose servers are all in one cell: while there is no other, and in turns with the next. */
  readonly listAlone: ListFigures
  readonly listOfOne: ListFigures
  /** Of the project whose servers are in all the others. */
  readonly listOfAll: ListFigures
  readonly bootsPerSecond: { readonly one: number; readonly all: number }
  readonly choices: ChoiceFigures
  /** Without requests: with one cell, and with all of them. */
  readonly idleWithOne: Readonly<Record<string, IdleFigures>>
  readonly idleWithAll: Readonly<Record<string, IdleFigures>>
  /** While servers change in all cells, at rates that stay the same. */
  readonly feed: readonly FeedFigures[]
  readonly join: JoinFigures
  /** With all servers. */
  readonly metrics: MetricsFigures
}

/** What the parts of a run work with. */
interface World {
  readonly owned: AsyncDisposableStack
  readonly options: Options
  readonly progress: (line: string) => void
  readonly product: Product
  readonly admin: Session
  /** Everything that runs, by what it is called in the results. */
  readonly processes: Record<string, ProcessIdentity>
}

interface Filled {
  readonly project: Project
  readonly cells: readonly AddedCell[]
  readonly bootsPerSecond: number
}

/** Booted, and waited for, at once. */
const BATCH = 1_000

/** Afterwards everything is measured; `owned` ends what was started for it. */
export async function measureFederation(
  owned: AsyncDisposableStack,
  options: Options,
  progress: World['progress'],
): Promise<Results> {
  const startedAt = new Date().toISOString()
  progress('Making many servers on simulated hosts alone ...')
  const fake = await measureFake()
  const product = await startProduct(owned, { cells: 1, hosts: 1 }, progress)
  const admin = await adminOf(product.layout, existingState(product.layout))
  const processes = {
    gateway: product.processes['gateway-1']!,
    MariaDB: product.mariadb.process,
    NATS: product.nats.process,
  }
  const world: World = { owned, options, progress, product, admin, processes }
  const inOne = await fill(world, 'one', ['alone'])
  progress('Measuring with one cell ...')
  const [listAlone] = await measureLists([inOne.project])
  const idleWithOne = await measureIdle(processes, options.idleS)
  const names = Array.from({ length: options.cells }, (_, index) => `cell-${index + 1}`)
  const inAll = await fill(world, 'all', names)
  progress('Measuring with all cells ...')
  const [listOfOne, listOfAll] = await measureLists([inOne.project, inAll.project])
  const idleWithAll = await measureIdle(processes, options.idleS)
  progress('Changing servers at a steady rate ...')
  const feed = await measureFeed(product, inAll.cells, processes)
  const choices = await readChoices(product, inAll.project)
  const metrics = await readMetrics(admin)
  progress('Letting more cells in, and one join ...')
  const { session: member } = inAll.project
  const serverId = await someServer(member)
  const join = await joinOneMore(owned, product, { admin, member, serverId })
  return {
    startedAt,
    machine: thisMachine(),
    options,
    fake,
    listAlone: listAlone!,
    listOfOne: listOfOne!,
    listOfAll: listOfAll!,
    bootsPerSecond: { one: inOne.bootsPerSecond, all: inAll.bootsPerSecond },
    choices,
    idleWithOne,
    idleWithAll,
    feed,
    join,
    metrics,
  }
}

/** Afterwards these cells are there, too, and a project whose servers run in them: all others are smaller or fuller. */
async function fill(world: World, name: string, cells: readonly string[]): Promise<Filled> {
  const { owned, options, progress, product, admin, processes } = world
  progress(`Adding ${cells.length} cells of ${options.hosts} hosts ...`)
  const wanted = { name, cells, hostsPerCell: options.hosts }
  const added = await addCells(owned, product, admin, wanted)
  Object.assign(processes, added.processes)
  const project = await makeProject(owned, product, admin, `in-${name}`)
  const { servers } = options
  const startedAt = performance.now()
  for (let made = 0; made < servers; made += BATCH) {
    progress(`Booted ${made} of ${servers} servers ...`)
    await bootStorm(project, Math.min(BATCH, servers - made), `bench-${made}`)
  }
  const bootsPerSecond = (servers * 1_000) / (performance.now() - startedAt)
  return { project, cells: added.cells, bootsPerSecond }
}

async function someServer(session: Session): Promise<string> {
  const { servers } = await callApi<{ servers: readonly [{ readonly id: string }] }>(session, {
    method: 'GET',
    path: `${SERVERS}?limit=1`,
  })
  return servers[0].id
}
