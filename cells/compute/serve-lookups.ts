import type { NatsConnection } from '@nats-io/transport-node'
import { Failure } from '#common/errors.ts'
import type { ImageId, InstanceId } from '#common/ids.ts'
import { POWER_STATES } from '#common/states/instance-states.ts'
import type { GuestTopology } from '#drivers/topology.ts'
import { MOVE_BYTES_MAX } from '#openapi/wire/host.ts'
import { LOOKUP_OPERATIONS, type WireTopology } from '#openapi/wire/lookup.ts'
import type { Compute } from './compute.ts'
import { driverPart } from './driver-part.ts'
import { ImageFetches } from './image-fetches.ts'
import { serveDirectly } from './serve-directly.ts'

/** Answers gateways on what this host alone knows, until disposed. */
export function serveLookups(compute: Compute, nats: NatsConnection): readonly AsyncDisposable[] {
  const { driver, keptDisks } = compute
  const fetches = new ImageFetches(compute)
  return serveDirectly(compute, nats, LOOKUP_OPERATIONS, {
    'image-find': async ({ imageId, sha256 }, signal) => {
      const image = { id: imageId as ImageId, sha256 }
      return { copy: (await driverPart(driver, 'imageCopies').find(image, signal)) ?? null }
    },
    'image-fetch': async ({ image }, signal) => ({
      state: await fetches.ask({ ...image, id: image.id as ImageId }, signal),
    }),
    'kept-disk-read': async ({ imageId, offset, maxBytes }) => {
      const bytes = await keptDisks.read(imageId, offset, Math.min(maxBytes, MOVE_BYTES_MAX))
      return { bytes: Buffer.from(bytes).toString('base64') }
    },
    'clouds-below': ({ via }, signal) => driverPart(driver, 'below').clouds(via, signal),
    'cells-below': async (asked, signal) => {
      const found = await driverPart(driver, 'below').cells(asked, signal)
      return { ...found, cells: found.cells.map((cell) => ({ ...cell, clouds: [...cell.clouds] })) }
    },
    'guest-state': async ({ serverId }, signal) => {
      const guest = (await driver.list(signal)).find(({ id }) => id === serverId)
      return { powerState: guest === undefined ? null : POWER_STATES[guest.powerState] }
    },
    'console-kind': async ({ serverId, kind }, signal) => {
      const kinds = driverPart(driver, 'consoleKinds')
      return { isThere: await kinds.has(serverId as InstanceId, kind, signal) }
    },
    topology: async ({ serverId }, signal) => {
      const found = await driverPart(driver, 'topology').read(serverId as InstanceId, signal)
      return { topology: found === null ? null : wireTopology(found) }
    },
    'tunnel-test': async (question, signal) => {
      if (driver.tunnels !== undefined) return driver.tunnels.test(question, signal)
      throw new Failure('unsupported', 'The host is not joined to the OVN of its cell.')
    },
    'server-below': async ({ serverId }, signal) => {
      const ids = await driverPart(driver, 'below').chain(serverId as InstanceId, signal)
      return { ids: [...ids] }
    },
  })
}

function wireTopology({ pageKib, nodes }: GuestTopology): WireTopology {
  return {
    pageKib,
    nodes: nodes.map(({ vcpus, pins, ...node }) => ({
      ...node,
      vcpus: [...vcpus],
      pins: [...pins],
    })),
  }
}
