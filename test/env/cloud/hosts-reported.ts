import { connectBus } from '#common/bus/connect.ts'
import { createLogger } from '#common/log.ts'
import { waitFor } from '#common/wait-for.ts'
import { checked } from '#openapi/wire/checked.ts'
import { CellHeartbeat } from '#openapi/wire/feed.ts'
import { eventSubject } from '#openapi/wire.ts'
import type { CloudCell } from '../cloud.ts'
import type { Foundation } from './foundation.ts'

/**
 * Resolves once every running process of every cell has reported all of its running hosts to the gateways: a process
 * learns within a second of a host that another one recorded.
 */
export async function hostsReported(
  { services, bus }: Foundation,
  cells: readonly CloudCell[],
  limitMs: number,
): Promise<void> {
  const credentialsFile = await bus.gatewayCredentialsFile()
  const log = createLogger('test', 'error')
  const nats = await connectBus({ url: services.natsUrl, credentialsFile, name: 'test' }, log)
  const hostsUp = new Map<string, number>()
  nats.subscribe(eventSubject('*', 'heartbeat'), {
    callback: (error, message) => {
      if (error !== null) return
      const beat = checked(CellHeartbeat, message.json(), 'heartbeat')
      hostsUp.set(beat.process, beat.summary.hostsUp)
    },
  })
  try {
    await waitFor(
      'every process of every cell to know its hosts',
      () =>
        cells.every(({ processes, computes }) => {
          const running = computes.filter((host) => host.process.isRunning).length
          return processes.every(
            ({ name, isRunning }) => !isRunning || hostsUp.get(name) === running,
          )
        }),
      limitMs,
    )
  } finally {
    await nats.close()
  }
}
