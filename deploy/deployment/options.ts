import { databaseUrls } from '#common/db/database-url.ts'
import { Failure } from '#common/errors.ts'
import type { LaunchedDriver } from '../hypervisors/launched-driver.ts'
import { type DeploymentState, launchedCells } from './state.ts'

/** The options of `./weir up`; undefined for those that were not given. */
export interface UpOptions {
  readonly driver?: LaunchedDriver | 'auto'
  readonly network?: 'host' | 'ovn'
  readonly cells?: number
  readonly hosts?: number
  readonly gateways?: number
  readonly port?: number
  readonly fresh?: boolean
  /** This machine itself reaches floating IPs. */
  readonly hostRoute?: boolean
  /** `NAME=VALUE` each. */
  readonly set?: readonly string[]
  /** Where images are kept, as `GATEWAY_IMAGES` names it. */
  readonly images?: string
  /** Of this machine, for cells and clients of others. */
  readonly address?: string
  /** Of database servers that exist, with an account that may create databases and accounts. */
  readonly database?: string
  /** Of NATS servers that exist, with commas between them. */
  readonly bus?: string
  /** The directory with the keys of that bus. */
  readonly busKeys?: string
  /** Where that bus takes leaf nodes. */
  readonly busLeaf?: string
}

/** The settings that the options name, `NAME=VALUE` each. */
export function assignmentsOf({ set = [], images }: UpOptions): readonly string[] {
  return images === undefined ? set : [...set, `GATEWAY_IMAGES=${images}`]
}

/** `HOST:PORT` of each server of a database URL, without its account. */
export function serversIn(databaseUrl: string): readonly string[] {
  return databaseUrls(databaseUrl).map((url) => new URL(url).host)
}

type Value = string | number | undefined

/** Throws `conflict` when an existing deployment is not what the options ask for. */
export function assertSame(options: UpOptions, state: DeploymentState): void {
  const differences: readonly (readonly [string, Value, Value])[] = [
    ['--driver', options.driver === 'auto' ? undefined : options.driver, state.driver.name],
    ['--network', options.network, state.network ?? 'host'],
    ['--cells', options.cells, launchedCells(state).length],
    ['--hosts', options.hosts, launchedCells(state)[0]?.hosts.length],
    ['--gateways', options.gateways, state.gateways.length],
    ['--port', options.port, state.gateways[0]?.port],
    // One that has none gets it.
    ['--address', options.address, state.exposed?.address ?? options.address],
    [
      '--database',
      options.database && serversIn(options.database).join(),
      state.elsewhere?.databases?.join() ?? 'a private server',
    ],
    ['--bus', options.bus, state.elsewhere?.bus?.url ?? 'a private server'],
    ['--bus-leaf', options.busLeaf, state.elsewhere?.bus?.leafUrl ?? 'none'],
  ]
  for (const [name, asked, is] of differences)
    if (asked !== undefined && asked !== is)
      throw new Failure(
        'conflict',
        `This deployment has ${name} ${is}, not ${asked}. To start over, losing its servers: ./weir up --fresh`,
      )
}
