import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { waitFor } from '#common/wait-for.ts'
import { findProgram } from '#deploy/process/find-program.ts'
import type { ProcessIdentity } from '#deploy/process/process-identity.ts'
import { type CephCluster, isCephHere, startCluster } from './cluster.ts'
import { cephEnvironment } from './configuration.ts'

const UP_MS = 120_000
const STORE_BYTES = 4 * 1024 ** 3
/** An OSD listens at four, a manager at two. */
const PORTS = 12
const PLACEMENT_GROUPS = '8'
const CAPABILITIES = ['mon', 'profile rbd', 'osd', 'profile rbd pool=volumes', 'mgr', 'profile rbd']

/** A Ceph with a pool for volumes, and a user who may do with it what the documentation says. */
export interface CephRbd extends AsyncDisposable {
  readonly cluster: CephCluster
  readonly pool: string
  readonly user: string
  /** As Ceph writes it. */
  readonly key: string
  /** For the settings of hosts. */
  readonly programs: string
  /** Ceph's `rbd` as the administrator. */
  rbd(...args: readonly string[]): Promise<string>
  /** Ends the store at once; its objects stay. */
  killStore(): Promise<void>
  /** Starts it again. Returns when the cluster has it. */
  startStore(): Promise<void>
}

/** True where there is all that hosts need whose volumes are in a Ceph. */
export function isCephRbdHere(): boolean {
  return isCephHere('ceph-mgr', 'ceph', 'rbd')
}

export async function startCephRbd(): Promise<CephRbd> {
  const cluster = await startCluster({
    store: 'bluestore',
    storeBytes: STORE_BYTES,
    ports: PORTS,
  })
  try {
    await cluster.daemon('ceph-mgr', '-i', 'x')
    return await withPool(cluster)
  } catch (error) {
    await cluster[Symbol.asyncDispose]()
    throw error
  }
}

async function withPool(cluster: CephCluster): Promise<CephRbd> {
  const { tool } = cluster
  let store: ProcessIdentity | undefined
  const startStore = async () => {
    store = await cluster.daemon('ceph-osd', '-i', '0')
    const isUp = async () => (await tool('ceph', 'osd', 'stat')).includes(' 1 up')
    await waitFor('the store of Ceph', isUp, UP_MS)
  }
  await startStore()
  await tool('ceph', 'osd', 'pool', 'create', 'volumes', PLACEMENT_GROUPS, PLACEMENT_GROUPS)
  await tool('rbd', 'pool', 'init', 'volumes')
  const user = await tool('ceph', 'auth', 'get-or-create', 'client.weir', ...CAPABILITIES)
  const hasRoom = async () => (await tool('ceph', 'df', '--format', 'json')).includes('"max_avail"')
  await waitFor('the room of the pool', hasRoom, UP_MS)
  return {
    ...{ cluster, pool: 'volumes', user: 'weir', key: user.split('key = ')[1]!.trim() },
    programs: wrappers(cluster),
    rbd: (...args) => tool('rbd', ...args),
    async killStore() {
      process.kill(store!.pid, 'SIGKILL')
      const isDown = async () => (await tool('ceph', 'osd', 'stat')).includes(' 0 up')
      await tool('ceph', 'osd', 'down', '0')
      await waitFor('the store of Ceph to be down', isDown, UP_MS)
    },
    startStore,
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  }
}

/** A folder with the programs that hosts run, which find their libraries though they are unpacked. */
function wrappers({ directory }: CephCluster): string {
  const folder = join(directory, 'bin')
  mkdirSync(folder)
  const { LD_LIBRARY_PATH } = cephEnvironment()
  for (const name of ['rbd', 'ceph'])
    writeFileSync(
      join(folder, name),
      `#!/bin/sh\nLD_LIBRARY_PATH=${LD_LIBRARY_PATH} exec ${findProgram(name)} "$@"\n`,
      { mode: 0o755 },
    )
  return folder
}
