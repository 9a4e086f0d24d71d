import type { NatsConnection } from '@nats-io/transport-node'
import type { Static } from 'typebox'
import { type Service, serve } from '#common/bus/serve.ts'
import { withinWork } from '#common/current-work.ts'
import type { ImageId, InstanceId } from '#common/ids.ts'
import { POWER_STATES } from '#common/states/instance-states.ts'
import { checked } from '#openapi/wire/checked.ts'
import { LOOKUP_OPERATIONS, type LookupOperation } from '#openapi/wire/lookup.ts'
import { directSubject } from '#openapi/wire.ts'
import type { Compute } from './compute.ts'
import { driverPart } from './driver-part.ts'

type Ask<O extends LookupOperation> = Static<(typeof LOOKUP_OPERATIONS)[O]['ask']>
type Answer<O extends LookupOperation> = Static<(typeof LOOKUP_OPERATIONS)[O]['answer']>
type Handlers = {
  readonly [O in LookupOperation]: (ask: Ask<O>, signal: AbortSignal) => Promise<Answer<O>>
}

/** Less than gateways wait: a backend that is silent is told of, instead of the host. */
const TIMEOUT_MS = 12_000

/** Answers gateways on what this host alone knows, until disposed. */
export function serveLookups(
  { host, driver, log }: Compute,
  nats: NatsConnection,
): readonly AsyncDisposable[] {
  const handlers: Handlers = {
    'image-find': async ({ imageId, sha256 }, signal) => {
      const image = { id: imageId as ImageId, sha256 }
      return { copy: (await driverPart(driver, 'imageCopies').find(image, signal)) ?? null }
    },
    'clouds-below': ({ via }, signal) => driverPart(driver, 'below').clouds(via, signal),
    'guest-state': async ({ serverId }, signal) => {
      const guest = (await driver.list(signal)).find(({ id }) => id === serverId)
      return { powerState: guest === undefined ? null : POWER_STATES[guest.powerState] }
    },
    'server-below': async ({ serverId }, signal) => {
      const ids = await driverPart(driver, 'below').chain(serverId as InstanceId, signal)
      return { ids: [...ids] }
    },
  }
  return (Object.keys(handlers) as LookupOperation[]).map((operation) => {
    const handle = handlers[operation] as (ask: never, signal: AbortSignal) => Promise<unknown>
    const service: Service = {
      subject: directSubject(host.cellId, host.id, operation),
      parse: (payload) => checked(LOOKUP_OPERATIONS[operation].ask, payload, operation),
      handle: (ask: never, work) =>
        withinWork(work, () => handle(ask, AbortSignal.timeout(TIMEOUT_MS))),
    }
    return serve(nats, service, log)
  })
}
