import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { waitFor } from '#common/wait-for.ts'
import { runTool } from '#deploy/packages/run-tool.ts'
import { programsDirectory } from '#deploy/paths.ts'
import { findProgram, programPath } from '#deploy/process/find-program.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { startProcess } from '#deploy/process/start-process.ts'
import { stopProcess } from '#deploy/process/stop-process.ts'

const LIMIT_MS = 120_000
const LIBRARIES = ['usr/lib/x86_64-linux-gnu', 'usr/lib/aarch64-linux-gnu']
const PROGRAMS = ['ceph-mon', 'ceph-osd', 'radosgw', 'radosgw-admin', 'monmaptool', 'osdmaptool']

/** A Ceph with an S3, whose objects are in memory. */
export interface Ceph extends AsyncDisposable {
  readonly endpoint: string
  readonly key: { readonly accessKey: string; readonly secretKey: string }
}

/** True where Debian's Ceph is unpacked or installed. */
export function isCephHere(): boolean {
  return PROGRAMS.every((name) => programPath(name) !== undefined)
}

/** Debian's Ceph as small as it gets: a monitor, a store in memory, and the gateway that speaks S3. */
export async function startCeph(): Promise<Ceph> {
  await using owned = new AsyncDisposableStack()
  const directory = mkdtempSync(join(tmpdir(), 'weir-ceph-'))
  owned.defer(() => rmSync(directory, { recursive: true, force: true }))
  const [monitorPort, port] = [await freePort(), await freePort()]
  const fsid = randomUUID()
  const monitor = `[v2:127.0.0.1:${monitorPort}]`
  const file = join(directory, 'ceph.conf')
  writeFileSync(file, configuration(directory, { fsid, monitor, port }))
  for (const name of ['osd', 'rgw']) mkdirSync(join(directory, name))
  const at = (name: string) => join(directory, name)
  const tool = (name: string, ...args: readonly string[]) =>
    runTool('env', [`LD_LIBRARY_PATH=${libraryPath()}`, findProgram(name), '-c', file, ...args], {
      limitMs: LIMIT_MS,
    })
  const daemon = async (name: string, ...args: readonly string[]) => {
    const started = await startProcess({
      command: findProgram(name),
      args: ['-c', file, '-f', ...args],
      env: { PATH: process.env['PATH'], LD_LIBRARY_PATH: libraryPath() },
      directory,
      logFile: at(`${name}.out`),
      lifetime: 'with-parent',
    })
    owned.defer(() => stopProcess(started))
  }
  await tool('monmaptool', '--create', '--fsid', fsid, '--addv', 'a', monitor, at('monmap'))
  await tool('osdmaptool', '--createsimple', '1', '--pg_bits', '0', at('osdmap'))
  const maps = ['--monmap', at('monmap'), '--osdmap', at('osdmap'), '--fsid', fsid]
  await tool('ceph-mon', '--mkfs', '-i', 'a', ...maps)
  await daemon('ceph-mon', '-i', 'a')
  await tool('ceph-osd', '-i', '0', '--mkfs', '--osd-uuid', randomUUID())
  await daemon('ceph-osd', '-i', '0')
  const key = { accessKey: 'WEIR', secretKey: randomUUID() }
  const user = ['--uid=weir', '--display-name=weir']
  const keys = [`--access-key=${key.accessKey}`, `--secret-key=${key.secretKey}`]
  await tool('radosgw-admin', 'user', 'create', ...user, ...keys)
  await daemon('radosgw', '-n', 'client.admin')
  const endpoint = `http://127.0.0.1:${port}`
  const answers = async () => (await fetch(endpoint)).ok
  await waitFor('radosgw to answer', () => answers().catch(() => false), LIMIT_MS)
  const parts = owned.move()
  return { endpoint, key, [Symbol.asyncDispose]: () => parts.disposeAsync() }
}

/** Below the folder of an unpacked Ceph, or else the system's. */
function libraries(): readonly string[] {
  const root = findProgram('ceph-osd').startsWith(programsDirectory) ? programsDirectory : '/'
  return LIBRARIES.map((each) => join(root, each))
}

function libraryPath(): string {
  return libraries()
    .flatMap((each) => [each, join(each, 'ceph')])
    .join(':')
}

function configuration(
  directory: string,
  {
    fsid,
    monitor,
    port,
  }: { readonly fsid: string; readonly monitor: string; readonly port: number },
): string {
  const [library = ''] = libraries()
  const modes = ['cluster', 'service', 'client', 'mon_cluster', 'mon_service', 'mon_client']
  const settings: Readonly<Record<string, string | number>> = {
    fsid,
    mon_host: monitor,
    auth_supported: 'none',
    ...Object.fromEntries(modes.map((name) => [`ms_${name}_mode`, 'crc'])),
    public_addr: '127.0.0.1',
    cluster_addr: '127.0.0.1',
    osd_pool_default_size: 1,
    osd_pool_default_min_size: 1,
    osd_pool_default_pg_num: 1,
    osd_pool_default_pgp_num: 1,
    osd_pool_default_pg_autoscale_mode: 'off',
    mon_allow_pool_size_one: 'true',
    osd_crush_chooseleaf_type: 0,
    osd_objectstore: 'memstore',
    memstore_device_bytes: 2 ** 30,
    erasure_code_dir: `${library}/ceph/erasure-code`,
    plugin_dir: `${library}/ceph`,
    osd_class_dir: `${library}/rados-classes`,
    run_dir: directory,
    admin_socket: `${directory}/$name.asok`,
    pid_file: '',
    log_file: `${directory}/$name.log`,
    mon_cluster_log_file: `${directory}/cluster.log`,
    mon_data: `${directory}/mon`,
    osd_data: `${directory}/osd`,
    rgw_data: `${directory}/rgw`,
    rgw_frontends: `beast endpoint=127.0.0.1:${port}`,
    rgw_enable_apis: 's3',
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
  return ['[global]', ...lines, ''].join('\n')
}
