import { join } from 'node:path'
import type { ServerTls } from '../nats/cluster.ts'
import { projectRoot } from '../paths.ts'
import type { Options } from './option-file.ts'

const LIBRARY = '/usr/lib/galera/libgalera_smm.so'
const LOOPBACK = '127.0.0.1'

/** A node of a Galera cluster, as the others reach it. */
export interface GaleraMember {
  readonly name: string
  /** Absent: loopback. */
  readonly address?: string
  /** For SQL, for the group, for the changes that a node missed (IST), and for a whole copy of the data (SST). */
  readonly ports: {
    readonly sql: number
    readonly group: number
    readonly ist: number
    readonly sst: number
  }
}

export interface GaleraCluster {
  readonly members: readonly GaleraMember[]
  /** Of root and of the account with which a node copies its data to another. */
  readonly password: string
  /** With which the nodes encrypt and know each other; absent: they are on one machine. */
  readonly tls?: ServerTls
}

/** The options that make a MariaDB with `privateOptions(home, …)` a node of the cluster. */
export function galeraOptions(own: GaleraMember, cluster: GaleraCluster, home: string): Options {
  const { members, password, tls } = cluster
  const { sql, group, ist, sst } = own.ports
  const at = addressOf(own)
  const provider = [
    `gmcast.listen_addr=${tls === undefined ? 'tcp' : 'ssl'}://${at}:${group}`,
    `ist.recv_addr=${at}:${ist}`,
    'gcache.size=64M',
    ...encryption(tls),
    // A node that says nothing for a second leaves the cluster, so that the others go on.
    'evs.keepalive_period=PT0.1S',
    // A node that looks later than three of these after its last look was busy itself, and suspects no other for it.
    'evs.inactive_check_period=PT0.1S',
    'evs.suspect_timeout=PT1S',
    'evs.inactive_timeout=PT3S',
    'evs.install_timeout=PT3S',
    // While nodes agree on who is in the cluster they send nothing but this. At the default of a second they suspect each
    // other, and a node that comes back splits the cluster.
    'evs.join_retrans_period=PT0.1S',
    'gmcast.peer_timeout=PT1S',
  ]
  const others = members.map((each) => `${addressOf(each)}:${each.ports.group}`)
  return [
    ['binlog-format', 'ROW'],
    ['innodb-autoinc-lock-mode', 2],
    ['wsrep-on', 'ON'],
    ['wsrep-provider', LIBRARY],
    ['wsrep-cluster-name', 'weir'],
    ['wsrep-cluster-address', `gcomm://${others.join(',')}`],
    ['wsrep-node-name', own.name],
    ['wsrep-node-address', at],
    ['wsrep-node-incoming-address', `${at}:${sql}`],
    // The one transfer during which the node that gives its data goes on to serve.
    ['wsrep-sst-method', 'mariabackup'],
    ['wsrep-sst-auth', `sst:${password}`],
    ['wsrep-sst-receive-address', `${at}:${sst}`],
    ['wsrep-slave-threads', 2],
    [
      'wsrep-notify-cmd',
      `${join(projectRoot, 'deploy/mariadb/end-outside-cluster')} ${home}/mariadbd.pid`,
    ],
    ['wsrep-provider-options', `"${provider.join(';')}"`],
  ]
}

function addressOf({ address = LOOPBACK }: Pick<GaleraMember, 'address'>): string {
  return address
}

function encryption(tls: ServerTls | undefined): readonly string[] {
  if (tls === undefined) return ['socket.ssl=NO']
  return [
    `socket.ssl_ca=${tls.caFile}`,
    `socket.ssl_cert=${tls.certificateFile}`,
    `socket.ssl_key=${tls.keyFile}`,
  ]
}
