import type { NatsConnection } from '@nats-io/transport-node'
import { serve } from '#common/bus/serve.ts'
import type { ImageId } from '#common/ids.ts'
import { checked } from '#openapi/wire/checked.ts'
import { IMAGE_OPERATIONS } from '#openapi/wire/image.ts'
import { directSubject } from '#openapi/wire.ts'
import type { Compute } from './compute.ts'
import { driverPart } from './driver-part.ts'

/** Less than gateways wait. */
const TIMEOUT_MS = 12_000
const FIND = 'image-find'

/** Answers gateways on the images that this host has, until disposed. */
export function serveImages({ host, driver, log }: Compute, nats: NatsConnection): AsyncDisposable {
  const subject = directSubject(host.cellId, host.id, FIND)
  const { ask } = IMAGE_OPERATIONS[FIND]
  return serve(
    nats,
    {
      subject,
      parse: (payload) => checked(ask, payload, FIND),
      handle: async ({ imageId, sha256 }) => {
        const image = { id: imageId as ImageId, sha256 }
        const signal = AbortSignal.timeout(TIMEOUT_MS)
        const copy = await driverPart(driver, 'imageCopies').find(image, signal)
        return { copy: copy ?? null }
      },
    },
    log,
  )
}
