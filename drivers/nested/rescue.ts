import type { Rescue } from '../driver.ts'
import { actOnServer } from './compute/act-on-server.ts'
import { restingServer } from './compute/find-server.ts'
import type { NestedHost } from './host.ts'

export function nestedRescue(host: NestedHost): Rescue {
  return {
    rescue: (id, { image, adminPassword }, signal) =>
      host.locks.runPreemptible(id, signal, async (lockSignal) => {
        const server = await restingServer(host, id, lockSignal)
        if (server.status === 'RESCUE') return
        const rescue = {
          rescue_image_ref: await host.images.ensure(image, lockSignal),
          ...(adminPassword === null ? {} : { adminPass: adminPassword }),
        }
        await actOnServer(host, server, { body: { rescue }, until: ['RESCUE'] }, lockSignal)
      }),
    unrescue: (id, signal) =>
      host.locks.run(id, signal, async () => {
        const server = await restingServer(host, id, signal)
        if (server.status === 'RESCUE')
          await actOnServer(host, server, { body: { unrescue: null }, until: ['ACTIVE'] }, signal)
      }),
  }
}
