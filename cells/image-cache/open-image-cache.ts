import { join } from 'node:path'
import { Registry } from 'prom-client'
import type { Clock } from '#common/clock.ts'
import type { Logger } from '#common/log.ts'
import { CertificateWatch } from '#common/tls/certificate-watch.ts'
import { passKey } from '../images/cache-pass.ts'
import { ImageCaches } from '../images/image-caches.ts'
import { ImageClient } from '../images/image-client.ts'
import { cacheMetrics } from './cache-metrics.ts'
import { CellImageCache } from './cell-image-cache.ts'
import { serveImageCache } from './serve-image-cache.ts'
import type { ImageCacheSettings } from './settings.ts'

/** Of a process of a cell. */
export interface ImageCacheConfig {
  /** The same for all processes. */
  readonly secretKey: string
  readonly processName: string
  readonly imageCache: ImageCacheSettings
}

export interface OpenedImageCache {
  /** Those that this process names to hosts; undefined where the cell has none. */
  readonly caches: ImageCaches | undefined
  /** Of its own one; undefined where it has none, or serves without encryption. */
  readonly certificate: CertificateWatch | undefined
}

/** Afterwards the cache of this process, if it has one, serves until the parts are disposed; `registry` absent: its metrics are not served. */
export async function openImageCache(
  owned: AsyncDisposableStack,
  { secretKey, processName, imageCache: { own, urls, gatewayUrls } }: ImageCacheConfig,
  {
    clock,
    log,
    registry = new Registry(),
  }: { readonly clock: Clock; readonly log: Logger; readonly registry?: Registry | undefined },
): Promise<OpenedImageCache> {
  const key = passKey(secretKey)
  if (own === undefined) {
    const caches = urls.length === 0 ? undefined : owned.use(new ImageCaches(urls, key, clock))
    return { caches, certificate: undefined }
  }
  const source = owned.use(new ImageClient(gatewayUrls))
  const metrics = cacheMetrics(registry, () => cache.usedBytes())
  const cache = owned.use(
    await CellImageCache.open({
      folder: join(own.directory, processName),
      source,
      bytesMax: own.bytesMax,
      clock,
      log,
      onFetched: (bytes) => metrics.fetched(bytes),
    }),
  )
  const certificate = own.tls && owned.use(new CertificateWatch(own.tls, clock, log))
  const parts = { cache, metrics, key, certificate, clock, log }
  const served = owned.use(await serveImageCache(parts, own))
  const named = urls.length === 0 ? [served.url] : urls
  return { caches: owned.use(new ImageCaches(named, key, clock)), certificate }
}
