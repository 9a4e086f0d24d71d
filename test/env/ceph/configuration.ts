import { join } from 'node:path'
import { programsDirectory } from '#deploy/paths.ts'
import { findProgram } from '#deploy/process/find-program.ts'

const LIBRARIES = ['usr/lib/x86_64-linux-gnu', 'usr/lib/aarch64-linux-gnu']

/** Where a cluster keeps its objects: in memory, or in a sparse file that survives the end of its daemon. */
export type ObjectStore = 'memstore' | 'bluestore'

export interface CephSettings {
  readonly fsid: string
  /** As Ceph writes addresses. */
  readonly monitor: string
  readonly store: ObjectStore
  readonly storeBytes: number
  /** The first of the ports at which daemons other than the monitor may listen, and the last. */
  readonly ports: readonly [number, number]
  /** Of the gateway that speaks S3. */
  readonly gatewayPort: number
}

/** Below the folder of an unpacked Ceph, or else the system's. */
function root(): string {
  return findProgram('ceph-osd').startsWith(programsDirectory) ? programsDirectory : '/'
}

/** What Ceph's programs need of the environment when they are unpacked, all of them or only those that the system lacks. */
export function cephEnvironment(): Readonly<Record<string, string>> {
  const folders = LIBRARIES.map((each) => join(programsDirectory, each))
  return {
    PATH: process.env['PATH'] ?? '',
    LD_LIBRARY_PATH: folders.flatMap((each) => [each, join(each, 'ceph')]).join(':'),
  }
}

/** The settings of all daemons and clients of a cluster of one machine, whose files are in `directory`. */
export function cephConfiguration(directory: string, settings: CephSettings): string {
  const library = join(root(), LIBRARIES[process.arch === 'arm64' ? 1 : 0]!)
  const modes = ['cluster', 'service', 'client', 'mon_cluster', 'mon_service', 'mon_client']
  const all: Readonly<Record<string, string | number>> = {
    fsid: settings.fsid,
    mon_host: settings.monitor,
    keyring: `${directory}/keyring`,
    ...Object.fromEntries(modes.map((name) => [`ms_${name}_mode`, 'crc'])),
    ...{ public_addr: '127.0.0.1', cluster_addr: '127.0.0.1', ms_bind_msgr1: 'false' },
    ...{ ms_bind_port_min: settings.ports[0], ms_bind_port_max: settings.ports[1] },
    auth_allow_insecure_global_id_reclaim: 'false',
    ...{ osd_pool_default_size: 1, osd_pool_default_min_size: 1 },
    ...{ osd_pool_default_pg_num: 1, osd_pool_default_pgp_num: 1 },
    osd_pool_default_pg_autoscale_mode: 'off',
    ...{ mon_allow_pool_size_one: 'true', mon_allow_pool_delete: 'true' },
    // The disk below may be rather full.
    ...{ mon_data_avail_crit: 1, mon_data_avail_warn: 2 },
    osd_crush_chooseleaf_type: 0,
    osd_objectstore: settings.store,
    ...{ memstore_device_bytes: settings.storeBytes, bluestore_block_size: settings.storeBytes },
    osd_memory_target: 939_524_096,
    erasure_code_dir: `${library}/ceph/erasure-code`,
    plugin_dir: `${library}/ceph`,
    osd_class_dir: `${library}/rados-classes`,
    mgr_module_path: join(root(), 'usr/share/ceph/mgr'),
    mgr_initial_modules: '',
    run_dir: directory,
    admin_socket: `${directory}/$name.asok`,
    pid_file: '',
    log_file: `${directory}/$name.log`,
    mon_cluster_log_file: `${directory}/cluster.log`,
    mon_data: `${directory}/mon`,
    mgr_data: `${directory}/mgr`,
    osd_data: `${directory}/osd`,
    rgw_data: `${directory}/rgw`,
    rgw_frontends: `beast endpoint=127.0.0.1:${settings.gatewayPort}`,
    rgw_enable_apis: 's3',
  }
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`)
  return ['[global]', ...lines, ''].join('\n')
}
