import { Counter, type Registry } from 'prom-client'
import type { ObserveS3 } from '../s3/s3-client.ts'

/** Afterwards the metrics count the requests to an image store that is an S3, as they are observed. */
export function observeImageStore(registry: Registry): ObserveS3 {
  const requests = new Counter({
    name: 'weir_image_store_requests_total',
    help: 'Requests to the S3 that keeps images, each with its further tries as one',
    labelNames: ['operation', 'outcome'],
    registers: [registry],
  })
  return (operation, outcome) => requests.inc({ operation, outcome })
}
