import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { removeHolder, runningHolder } from '../namespace/holder-file.ts'
import { endNamespace, type Holder, startNamespace } from '../namespace/namespace.ts'
import { type DaemonPlace, killDaemon, startDaemon, startDatabase, takeFolder } from './daemons.ts'

/** The daemons of a cell's OVN that run once, not on every host. */
export const CENTRAL_DAEMONS = ['northbound', 'southbound', 'northd'] as const
export type CentralDaemon = (typeof CENTRAL_DAEMONS)[number]

const NORTHBOUND = {
  name: 'northbound',
  schema: 'ovn/ovn-nb.ovsschema',
  connections: { of: 'OVN_Northbound', table: 'NB_Global' },
}
const SOUTHBOUND = {
  name: 'southbound',
  schema: 'ovn/ovn-sb.ovsschema',
  connections: { of: 'OVN_Southbound', table: 'SB_Global' },
}

/**
 * After each change northd allocates and frees all that it computes. With the allocator of gperftools it takes half of
 * the CPU time; the loader does without a library that is not there.
 */
const NORTHD_ENV = { LD_PRELOAD: 'libtcmalloc_minimal.so.4' }

export interface RunningOvnCentral {
  /** The namespaces that they live in. */
  readonly holder: Holder
  /** Addresses of the databases, as OVN's tools write them. */
  readonly northbound: string
  readonly southbound: string
  /** Ends a daemon like a crash. */
  kill(daemon: CentralDaemon): Promise<void>
  /** Afterwards all daemons run; running ones are not touched. */
  start(): Promise<void>
  /** Ends all daemons, and no others. The databases stay. */
  stop(): Promise<void>
}

/**
 * Afterwards the northbound and southbound database of one cell and the daemon between them run, in namespaces of their own,
 * with unix sockets alone. Started over one that still runs, it finds that one. Needs root and the packages of `ovn`.
 */
export async function startOvnCentral(directory: string): Promise<RunningOvnCentral> {
  const home = resolve(directory)
  await mkdir(home, { recursive: true, mode: 0o711 })
  const holder = (await runningHolder(home)) ?? (await startNamespace())
  const place: DaemonPlace = { holder, directory: home }
  await takeFolder(place)
  const [nb, sb] = ['nb', 'sb'].map((name) => join(home, `${name}.sock`)) as [string, string]
  const start = async () => {
    await Promise.all([
      startDatabase(place, { ...NORTHBOUND, socket: nb }),
      startDatabase(place, { ...SOUTHBOUND, socket: sb }),
    ])
    const databases = [`--ovnnb-db=unix:${nb}`, `--ovnsb-db=unix:${sb}`]
    await startDaemon(place, 'ovn-northd', 'northd', databases, NORTHD_ENV)
  }
  try {
    await start()
  } catch (error) {
    await stopOvnCentral(home)
    throw error
  }
  return {
    holder,
    northbound: `unix:${nb}`,
    southbound: `unix:${sb}`,
    kill: (daemon) => killDaemon(place, daemon),
    start,
    stop: () => stopOvnCentral(home),
  }
}

/** Ends the central daemons whose state is under `directory`, if they run: for processes that did not start them. */
export async function stopOvnCentral(directory: string): Promise<void> {
  const home = resolve(directory)
  const holder = await runningHolder(home)
  if (holder !== undefined) await endNamespace(holder)
  await removeHolder(home)
}
