import { setTimeout as sleep } from 'node:timers/promises'
import type { InstanceId } from '#common/ids.ts'
import { errorFields } from '#common/log.ts'
import type { InstanceReport } from '../driver.ts'
import { LOST, reportOf } from './compute/server-view.ts'
import { followEvents } from './follow-events.ts'
import type { NestedHost } from './host.ts'

/** Every instance of this owner that has come into being. */
export async function list(
  host: NestedHost,
  signal: AbortSignal,
): Promise<readonly InstanceReport[]> {
  await host.view.catchUp(signal)
  const reports = new Map<InstanceId, InstanceReport>()
  for (const [id, { hasRun, serverId }] of host.records.all()) {
    if (!hasRun || serverId === null) continue
    await host.view.seek(serverId, signal)
    if (host.view.isLost(serverId)) reports.set(id, { id, powerState: 'nostate', fault: LOST })
  }
  for (const server of host.view.all()) {
    const id = host.view.instanceOf(server)
    if (id === undefined || server.status === 'BUILD') continue
    const isKnown = host.records.get(id)?.serverId === server.id
    if (isKnown || !reports.has(id)) reports.set(id, reportOf(id, server))
  }
  return [...reports.values()]
}

/**
 * Calls `listener` for every change of power state that the cloud's events or lists show; asks for a list when no
 * other caller does.
 */
export function watch(
  host: NestedHost,
  listener: (report: InstanceReport) => void,
): AsyncDisposable {
  const stop = new AbortController()
  const listening = host.view.listen(listener)
  const following = Promise.all([poll(host, stop.signal), followEvents(host, stop.signal)])
  return {
    async [Symbol.asyncDispose]() {
      listening[Symbol.dispose]()
      stop.abort()
      await following
    },
  }
}

async function poll(host: NestedHost, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await host.view.refresh(signal)
    } catch (error) {
      if (!signal.aborted) host.logger?.warn(errorFields(error), 'the nested cloud is not seen')
    }
    await sleep(host.settings.idlePollMs, undefined, { signal }).catch(() => undefined)
  }
}
