import { Failure } from '#common/errors.ts'
import type { Suspend } from '../driver.ts'
import { actOnServer } from './compute/act-on-server.ts'
import { restingServer } from './compute/find-server.ts'
import type { NestedHost } from './host.ts'
import { powerOn } from './power.ts'

export function nestedSuspend(host: NestedHost): Suspend {
  return {
    suspend: (id, signal) =>
      host.locks.run(id, signal, async () => {
        const server = await restingServer(host, id, signal)
        if (server.status === 'SUSPENDED') return
        if (server.status !== 'ACTIVE')
          throw new Failure('conflict', `Instance ${id} is not running, so it cannot be suspended.`)
        await actOnServer(host, server, { body: { suspend: null }, until: ['SUSPENDED'] }, signal)
      }),
    resume: (id, signal) =>
      host.locks.run(id, signal, async () => {
        const server = await restingServer(host, id, signal)
        if (server.status === 'SUSPENDED') await powerOn(host, server, signal)
      }),
  }
}
