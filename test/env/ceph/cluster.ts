import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runTool } from '#deploy/packages/run-tool.ts'
import { findProgram, programPath } from '#deploy/process/find-program.ts'
import { freePort } from '#deploy/process/free-port.ts'
import type { ProcessIdentity } from '#deploy/process/process-identity.ts'
import { startProcess } from '#deploy/process/start-process.ts'
import { stopProcess } from '#deploy/process/stop-process.ts'
import { cephConfiguration, cephEnvironment, type ObjectStore } from './configuration.ts'

const LIMIT_MS = 120_000
const PROGRAMS = ['ceph-mon', 'ceph-osd', 'ceph-authtool', 'monmaptool', 'osdmaptool']

/** A Ceph of one machine, as small as it gets: a monitor and a store, and what its user adds. It listens on loopback. */
export interface CephCluster extends AsyncDisposable {
  readonly fsid: string
  /** Its files, and its settings among them. */
  readonly directory: string
  readonly configuration: string
  /** Of the monitor, on loopback. */
  readonly monitorPort: number
  /** Where the other daemons listen. */
  readonly ports: readonly [number, number]
  readonly gatewayPort: number
  /** Runs one of Ceph's programs as the administrator. */
  readonly tool: (name: string, ...args: readonly string[]) => Promise<string>
  /** A daemon that ends with the cluster. */
  readonly daemon: (name: string, ...args: readonly string[]) => Promise<ProcessIdentity>
}

/** True where Debian's Ceph is unpacked or installed, with these programs too. */
export function isCephHere(...more: readonly string[]): boolean {
  return [...PROGRAMS, ...more].every((name) => programPath(name) !== undefined)
}

export interface ClusterOptions {
  readonly store: ObjectStore
  readonly storeBytes: number
  /** How many ports its daemons beside the monitor need. */
  readonly ports: number
}

/** A monitor that runs, and a store that `daemon('ceph-osd', '-i', '0')` starts. */
export async function startCluster(options: ClusterOptions): Promise<CephCluster> {
  const owned = new AsyncDisposableStack()
  const directory = mkdtempSync(join(tmpdir(), 'weir-ceph-'))
  owned.defer(() => rmSync(directory, { recursive: true, force: true }))
  const [monitorPort, gatewayPort] = [await freePort(), await freePort()]
  const cluster: CephCluster = {
    ...{ fsid: randomUUID(), directory, configuration: join(directory, 'ceph.conf') },
    ...{ monitorPort, gatewayPort, ports: await portRange(options.ports) },
    tool: (name, ...args) =>
      runTool(findProgram(name), ['-c', cluster.configuration, ...args], {
        limitMs: LIMIT_MS,
        env: cephEnvironment(),
      }),
    daemon: async (name, ...args) => {
      const started = await startProcess({
        command: findProgram(name),
        args: ['-c', cluster.configuration, '-f', ...args],
        env: cephEnvironment(),
        directory,
        logFile: join(directory, `${name}.out`),
        lifetime: 'with-parent',
      })
      owned.defer(() => stopProcess(started))
      return started
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
  try {
    await make(cluster, options)
    return cluster
  } catch (error) {
    await owned.disposeAsync()
    throw error
  }
}

/** Afterwards the monitor runs, and the store is empty. */
async function make(cluster: CephCluster, options: ClusterOptions): Promise<void> {
  const { directory, fsid, tool } = cluster
  const at = (name: string) => join(directory, name)
  const monitor = `[v2:127.0.0.1:${cluster.monitorPort}]`
  for (const name of ['mgr', 'osd', 'rgw']) mkdirSync(at(name))
  writeFileSync(
    cluster.configuration,
    cephConfiguration(directory, { ...options, ...cluster, monitor }),
  )
  await makeKeys(at('keyring'), tool)
  await tool('monmaptool', '--create', '--fsid', fsid, '--addv', 'a', monitor, at('monmap'))
  await tool('osdmaptool', '--createsimple', '1', '--pg_bits', '0', at('osdmap'))
  const maps = ['--monmap', at('monmap'), '--osdmap', at('osdmap'), '--fsid', fsid]
  await tool('ceph-mon', '--mkfs', '-i', 'a', ...maps)
  await cluster.daemon('ceph-mon', '-i', 'a')
  await tool('ceph-osd', '-i', '0', '--mkfs', '--osd-uuid', randomUUID())
}

/** One file has the keys of the daemons and of the administrator; the monitor learns them from it. */
async function makeKeys(path: string, tool: CephCluster['tool']): Promise<void> {
  const all = ['mon', 'osd', 'mgr'].flatMap((each) => ['--cap', each, 'allow *'])
  const names = ['mon.', 'client.admin', 'osd.0', 'mgr.x']
  for (const [index, name] of names.entries())
    await tool(
      'ceph-authtool',
      ...(index === 0 ? ['-C'] : []),
      path,
      '--gen-key',
      '-n',
      name,
      ...all,
    )
}

/** Ports in a row, the first of them free: a daemon passes over those at which others listen. */
async function portRange(count: number): Promise<readonly [number, number]> {
  const first = await freePort()
  return [first, first + count - 1]
}
