import type { NatsConnection } from '@nats-io/transport-node'
import { Gauge, type Registry } from 'prom-client'
import type { Database } from '#common/db/database.ts'
import { busMetrics } from '#common/metrics/bus-metrics.ts'
import { databaseMetrics } from '#common/metrics/database-metrics.ts'
import { expiryMetrics } from '#common/metrics/expiry-metrics.ts'
import { type ProgramMetrics, programMetrics } from '#common/metrics/program-metrics.ts'
import { readOnce } from '#common/metrics/read-once.ts'
import { sagaFigures } from '#common/metrics/saga-figures.ts'
import { sampledGauge } from '#common/metrics/sampled-gauge.ts'
import { type ServedMetrics, serveMetrics } from '#common/metrics/serve-metrics.ts'
import type { MetricsSettings } from '#common/metrics/settings.ts'
import { unfinishedSagas } from '#common/saga/unfinished.ts'
import type { CertificateWatch } from '#common/tls/certificate-watch.ts'
import type { Cell } from '../cell.ts'
import type { CellConfig } from '../config.ts'
import { feedCounts } from '../db/feed-counts.ts'

/** Counts from now on; every series has the cell's name. */
export function openCellMetrics({
  cellName: cell,
  processName: process,
}: CellConfig): ProgramMetrics {
  return programMetrics({ program: 'cell', process, labels: { cell } })
}

export interface CellParts {
  readonly cell: Cell
  readonly db: Database
  readonly nats: NatsConnection
  /** Of the image cache; undefined: it has none. */
  readonly certificate: CertificateWatch | undefined
  readonly config: CellConfig
}

/** Afterwards `/metrics` of this process of the cell is served. Throws `unavailable` for an address that cannot be listened on. */
export function serveCellMetrics(
  registry: Registry,
  parts: CellParts,
  settings: MetricsSettings,
): Promise<ServedMetrics> {
  const { cell, db, nats, certificate, config } = parts
  busMetrics(registry, nats)
  databaseMetrics(registry, db)
  const { natsCredentialsFile: bus, uplink } = config
  const credentialFiles = { bus, uplink: uplink?.credential?.file }
  expiryMetrics(registry, { certificates: { 'image-cache': certificate }, credentialFiles })
  countHosts(registry, cell)
  const update = observeWork(registry, parts)
  const { processName: process, cellName } = config
  const labels = { program: 'cell', process, cell: cellName }
  const { log } = cell.conductor
  return serveMetrics({ registry, update, prefix: 'CELL_', labels, log }, settings)
}

function countHosts(registry: Registry, { conductor: { hosts } }: Cell): void {
  new Gauge({
    name: 'weir_cell_known_hosts',
    help: 'Hosts as this process of the cell knows them; one that is down and cordoned is down',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      const counts = { up: 0, cordoned: 0, down: 0 }
      for (const host of hosts.all()) {
        if (host.isDeleted) continue
        counts[hosts.isUp(host) ? (host.isDisabled ? 'cordoned' : 'up') : 'down'] += 1
      }
      for (const [state, count] of Object.entries(counts)) this.set({ state }, count)
    },
  })
}

/** The sagas and the feed of the cell, which all its processes share. Without the database they have no series. */
function observeWork(registry: Registry, { cell, db }: CellParts): () => Promise<void> {
  const setSagas = sagaFigures(registry)
  const last = sampledGauge(registry, {
    name: 'weir_cell_feed_position',
    help: 'The number of the last change of the cell',
  })
  const unnumbered = sampledGauge(registry, {
    name: 'weir_cell_feed_unnumbered_rows',
    help: 'Committed changes that have no number yet, so that no gateway can read them',
  })
  const read = readOnce(cell.conductor.clock, async () => {
    return { sagas: await unfinishedSagas(db), feed: await feedCounts(db) }
  })
  return async () => {
    const known = await read().catch(() => undefined)
    setSagas(known?.sagas ?? [])
    last(known === undefined ? [] : [[known.feed.last]])
    unnumbered(known === undefined ? [] : [[known.feed.unnumbered]])
  }
}
