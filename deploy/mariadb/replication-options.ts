import type { Options } from './option-file.ts'

/** Of the changes that other sites have still to receive. */
const KEPT_S = 86_400
const GALERA_DOMAINS = 10

/**
 * The options of a MariaDB whose database `weir` another site may copy, and that may copy the database of another site.
 * `site` is a number that differs from that of every other site; of nodes of a cluster each has a `place` of its own.
 */
export function replicationOptions(site: number, place?: number): Options {
  return [
    ['log-bin', 'binlog'],
    ['binlog-format', 'ROW'],
    // A change that was answered must be in the log, or the other site would never have it.
    ['sync-binlog', 1],
    ['binlog-expire-logs-seconds', KEPT_S],
    ['max-binlog-size', '64M'],
    ['log-slave-updates', 'ON'],
    ['server-id', site],
    ...galeraDomains(site, place),
    ['relay-log', 'relay'],
    ['relay-log-recovery', 'ON'],
    ['master-retry-count', 4_294_967_295],
    ['slave-net-timeout', 4],
    ['slave-parallel-threads', 4],
    ['slave-parallel-mode', 'conservative'],
    ['replicate-wild-do-table', 'weir.%'],
    // Which node of a cluster takes statements is the cluster's own matter.
    ['replicate-ignore-table', 'weir.database_writer'],
  ]
}

function galeraDomains(site: number, place: number | undefined): Options {
  if (place === undefined) return [['gtid-domain-id', site]]
  return [
    ['gtid-domain-id', site * GALERA_DOMAINS + place + 1],
    ['wsrep-gtid-mode', 'ON'],
    ['wsrep-gtid-domain-id', site],
  ]
}
