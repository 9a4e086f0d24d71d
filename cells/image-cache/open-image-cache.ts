import { join } from 'node:path'
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

/**
 * The caches that this process names to hosts, undefined where the cell has none; afterwards its own one, if it has one,
 * serves until the parts are disposed.
 */
export async function openImageCache(
  owned: AsyncDisposableStack,
  { secretKey, processName, imageCache: { own, urls, gatewayUrls } }: ImageCacheConfig,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): Promise<ImageCaches | undefined> {
  const key = passKey(secretKey)
  if (own === undefined)
    return urls.length === 0 ? undefined : owned.use(new ImageCaches(urls, key, clock))
  const source = owned.use(new ImageClient(gatewayUrls))
  const metrics = cacheMetrics(() => cache.usedBytes())
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
  return owned.use(new ImageCaches(urls.length === 0 ? [served.url] : urls, key, clock))
}
