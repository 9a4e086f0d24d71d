import type { NatsConnection } from '@nats-io/transport-node'
import { Gauge, type Registry } from 'prom-client'
import { busMetrics } from '#common/metrics/bus-metrics.ts'
import { expiryMetrics } from '#common/metrics/expiry-metrics.ts'
import { type ProgramMetrics, programMetrics } from '#common/metrics/program-metrics.ts'
import { type ServedMetrics, serveMetrics } from '#common/metrics/serve-metrics.ts'
import type { MetricsSettings } from '#common/metrics/settings.ts'
import type { Compute } from '../compute.ts'
import type { ComputeConfig } from '../config.ts'
import { networkMetrics } from './network-metrics.ts'

/** Counts from now on; every series has the host's name. */
export function openComputeMetrics({ hostName: host }: ComputeConfig): ProgramMetrics {
  return programMetrics({ program: 'compute', process: host, labels: { host } })
}

/** Afterwards `/metrics` of the host is served. Throws `unavailable` for an address that cannot be listened on. */
export function serveComputeMetrics(
  registry: Registry,
  {
    compute,
    nats,
    config,
  }: {
    readonly compute: Pick<Compute, 'driver' | 'metadata' | 'log' | 'workQueue' | 'lastReport'>
    readonly nats: Pick<NatsConnection, 'rtt' | 'stats'>
    readonly config: Pick<ComputeConfig, 'natsCredentialsFile' | 'hostName'>
  },
  settings: MetricsSettings,
): Promise<ServedMetrics> {
  const { driver, metadata, log } = compute
  busMetrics(registry, nats)
  const credentialFiles = { bus: config.natsCredentialsFile }
  expiryMetrics(registry, { certificates: {}, credentialFiles })
  observeHost(registry, compute)
  const network =
    driver.networkStatistics &&
    metadata &&
    networkMetrics(registry, driver.networkStatistics, metadata, log)
  const labels = { program: 'compute', process: config.hostName, host: config.hostName }
  const source = { registry, prefix: 'COMPUTE_', labels, log }
  return serveMetrics(
    network === undefined ? source : { ...source, update: () => network.update() },
    settings,
  )
}

function observeHost(registry: Registry, compute: Pick<Compute, 'workQueue' | 'lastReport'>): void {
  const registers = [registry]
  new Gauge({
    name: 'weir_host_work',
    help: 'Work on servers of this host that runs, and that waits for other work on its server',
    labelNames: ['state'],
    registers,
    collect() {
      for (const [state, count] of Object.entries(compute.workQueue.depth))
        this.set({ state }, count)
    },
  })
  new Gauge({
    name: 'weir_host_backend_up',
    help: 'Whether the hypervisor, engine or cloud answered when the host last looked',
    registers,
    collect() {
      this.reset()
      const { lastReport } = compute
      if (lastReport !== null) this.set(lastReport.down === null ? 1 : 0)
    },
  })
  new Gauge({
    name: 'weir_host_guests',
    help: 'Guests of this host by power state, when the host last looked',
    labelNames: ['power_state'],
    registers,
    collect() {
      this.reset()
      for (const { powerState } of compute.lastReport?.guests ?? [])
        this.inc({ power_state: powerState })
    },
  })
}
