import { Failure } from '#common/errors.ts'
import type { Pause } from '../driver.ts'
import { actOnServer } from './compute/act-on-server.ts'
import { restingServer } from './compute/find-server.ts'
import type { NestedHost } from './host.ts'
import { powerOn } from './power.ts'

export function nestedPause(host: NestedHost): Pause {
  return {
    pause: (id, signal) =>
      host.locks.run(id, signal, async () => {
        const server = await restingServer(host, id, signal)
        if (server.status === 'PAUSED') return
        if (server.status !== 'ACTIVE')
          throw new Failure('conflict', `Instance ${id} is not running, so it cannot be paused.`)
        await actOnServer(host, server, { body: { pause: null }, until: ['PAUSED'] }, signal)
      }),
    unpause: (id, signal) =>
      host.locks.run(id, signal, async () => {
        const server = await restingServer(host, id, signal)
        if (server.status === 'PAUSED') await powerOn(host, server, signal)
      }),
  }
}
