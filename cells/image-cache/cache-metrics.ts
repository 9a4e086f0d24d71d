import { Counter, Gauge, type Registry } from 'prom-client'

/** The end of a host's request for an image. */
export type CacheOutcome = 'served' | 'waiting' | 'refused' | 'failed'

export interface CacheMetrics {
  fetched(bytes: number): void
  served(bytes: number): void
  answered(outcome: CacheOutcome): void
}

/** Afterwards the registry counts what is reported; `usedBytes` is looked at when the metrics are read. */
export function cacheMetrics(registry: Registry, usedBytes: () => Promise<number>): CacheMetrics {
  const registers = [registry]
  const bytes = new Counter({
    name: 'weir_image_cache_bytes_total',
    help: 'Bytes of images that came from the gateways (fetched) and went to hosts (served)',
    labelNames: ['direction'],
    registers,
  })
  const requests = new Counter({
    name: 'weir_image_cache_requests_total',
    help: 'Requests of hosts for an image',
    labelNames: ['outcome'],
    registers,
  })
  new Gauge({
    name: 'weir_image_cache_used_bytes',
    help: 'Bytes of the images in the cache',
    registers,
    async collect() {
      this.set(await usedBytes())
    },
  })
  return {
    fetched: (count) => bytes.inc({ direction: 'fetched' }, count),
    served: (count) => bytes.inc({ direction: 'served' }, count),
    answered: (outcome) => requests.inc({ outcome }),
  }
}
