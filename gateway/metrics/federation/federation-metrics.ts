import { Registry } from 'prom-client'
import { readOnce } from '#common/metrics/read-once.ts'
import { sampledGauge } from '#common/metrics/sampled-gauge.ts'
import { countStuck } from '#common/saga/stuck.ts'
import { unfinishedSagas } from '#common/saga/unfinished.ts'
import type { ComputeDeps } from '../../app/compute.ts'
import { listAggregates } from '../../db/aggregates.ts'
import {
  appliedPositions,
  countObjects,
  countServers,
  countVolumes,
  countWork,
} from '../../db/federation-counts.ts'
import { listHosts } from '../../db/host-list.ts'
import { countMissing } from '../../db/missing-servers.ts'
import { countStuckRows } from '../../db/reconciler-rows.ts'
import { cellFigures } from './cell-figures.ts'
import { hostFigures } from './host-figures.ts'
import { objectFigures } from './object-figures.ts'
import { quotaFigures } from './quota-figures.ts'
import { readProjects } from './read-projects.ts'
import { activeByHost, serverFigures } from './server-figures.ts'
import { volumeFigures } from './volume-figures.ts'
import { workFigures } from './work-figures.ts'

/** The projects whose use of their quota is shown. */
const PROJECTS_MAX = 100

type Deps = Pick<ComputeDeps, 'db' | 'cells' | 'clock'>

/** The state of the whole federation, which every gateway shows alike. */
export interface FederationMetrics {
  readonly contentType: string
  /** In Prometheus' text format. Throws `unavailable` while the database does not answer. */
  text(): Promise<string>
}

/**
 * What is in the database is read at most every five seconds, however often it is asked for, and less often where that takes
 * long (`readOnce`); the cells are as this gateway hears them at that moment. `hasIdentity` false: users are kept elsewhere.
 */
export function federationMetrics(deps: Deps, hasIdentity: boolean): FederationMetrics {
  const registry = new Registry()
  const setCells = cellFigures(registry)
  const setHosts = hostFigures(registry)
  const setServers = serverFigures(registry)
  const setQuotas = quotaFigures(registry)
  const setVolumes = volumeFigures(registry)
  const setWork = workFigures(registry)
  const setObjects = objectFigures(registry, hasIdentity)
  const setTook = sampledGauge(registry, {
    name: 'weir_federation_read_seconds',
    help: 'Time that the database took for these metrics when they were last read',
  })
  const read = readOnce(deps.clock, () => readFederation(deps))
  return {
    contentType: registry.contentType,
    text: async () => {
      const { servers, projects, volumes, hosts, aggregates, objects, ...more } = await read()
      const { work, sagas, stuck, ...about } = more
      const { cells } = deps
      setCells({ ...about, cells: cells.cells(), heardOf: (id) => cells.heardOf(id) })
      setHosts({ hosts, cells, aggregates, active: activeByHost(servers) })
      setServers({ servers, cells })
      setQuotas(projects)
      setVolumes({ volumes, cells: cells.cells() })
      setWork({ sagas, work, stuck: stuck + stuckIn(cells) })
      setObjects({ objects, zones: new Set(hosts.map(({ view }) => view.zone)).size })
      setTook([[about.tookMs / 1_000]])
      return registry.metrics()
    },
  }
}

/** One question after the other: none is urgent. */
async function readFederation({ db, clock }: Deps) {
  const startedAt = clock.elapsed()
  const servers = await countServers(db)
  const read = {
    servers,
    projects: await readProjects(db, PROJECTS_MAX),
    volumes: await countVolumes(db),
    hosts: await listHosts(db),
    aggregates: new Map((await listAggregates(db)).map(({ id, name }) => [id, name])),
    objects: await countObjects(db),
    work: await countWork(db),
    sagas: await unfinishedSagas(db),
    stuck: (await countStuck(db)) + (await countStuckRows(db)),
    missing: await countMissing(db),
    applied: await appliedPositions(db),
  }
  return { ...read, tookMs: clock.elapsed() - startedAt }
}

/** Sagas of a lost cell are not continued. */
function stuckIn(cells: Deps['cells']): number {
  const serving = cells.cells().filter(({ isLost }) => !isLost)
  return serving.reduce((sum, { summary }) => sum + (summary?.stuckSagas ?? 0), 0)
}
