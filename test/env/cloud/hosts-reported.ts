import { connectBus } from '#common/bus/connect.ts'
import { systemClock } from '#common/clock.ts'
import { Database } from '#common/db/database.ts'
import { createLogger } from '#common/log.ts'
import { waitFor } from '#common/wait-for.ts'
import { CellRegistry } from '#gateway/cell-client/registry.ts'
import type { CloudCell } from '../cloud.ts'
import type { Foundation } from './foundation.ts'

/**
 * Resolves once every running process of every cell has reported all of its running hosts to the gateways: a process
 * learns within a second of a host that another one recorded. It listens as a gateway does, because the bus may forget
 * what is subscribed while a gateway hands it their account, as gateways do when the bus is back.
 */
export async function hostsReported(
  { services, bus, databaseUrl }: Foundation,
  cells: readonly CloudCell[],
  limitMs: number,
): Promise<void> {
  const credentialsFile = await bus.gatewayCredentialsFile()
  const log = createLogger('test', 'error')
  await using parts = new AsyncDisposableStack()
  const nats = await connectBus({ url: services.natsUrl, credentialsFile, name: 'test' }, log)
  parts.defer(() => nats.close())
  const db = parts.use(new Database({ url: databaseUrl, connectionsMax: 1 }))
  const registry = parts.use(await CellRegistry.open({ db, nats, clock: systemClock, log }))
  const hostsUp = new Map<string, number>()
  registry.onHeartbeat((_, { process, summary }) => hostsUp.set(process, summary.hostsUp))
  const knowsHosts = ({ processes, computes }: CloudCell) => {
    const running = computes.filter((host) => host.process.isRunning).length
    return processes.every(({ name, isRunning }) => !isRunning || hostsUp.get(name) === running)
  }
  await waitFor(
    'every process of every cell to know its hosts',
    () => cells.every(knowsHosts),
    limitMs,
  )
}
