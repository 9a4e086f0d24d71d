import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Deployment } from '../deployment/deployment.ts'
import type { Snapshot } from './snapshot.ts'
import { readTrailing, takeInside } from './take-snapshot.ts'

const LIMIT_MS = 180_000
const EVERY_MS = 500
/** How users call the images they ask servers for. */
const SNAPSHOT = 'snapshot-'

/** The unfinished work; empty once the deployment is quiet. */
export function stuckIn({ api, gateway, cells }: Snapshot): readonly string[] {
  return [
    ...gateway.openSagas.map(
      ({ name, state, subject }) => `saga ${name} of ${subject} is ${state}`,
    ),
    ...gateway.intents.map(({ serverId, action }) => `server ${serverId} still waits to ${action}`),
    ...gateway.mappings
      .filter(({ sagaId, isDeleting }) => sagaId !== null || isDeleting !== 0)
      .map(({ serverId }) => `server ${serverId} is still being changed by a gateway`),
    ...gateway.index
      .filter(({ taskState, vmState }) => taskState !== null || vmState === 'building')
      .map((row) => `server ${row.serverId} shows ${row.vmState}, task ${row.taskState}`),
    ...gateway.actions
      .filter(({ openEvents }) => openEvents > 0)
      .map((row) => `action ${row.action} of ${row.serverId} (${row.requestId}) has not ended`),
    ...api.things.image
      .filter(({ name, fields }) => name.startsWith(SNAPSHOT) && fields['status'] !== 'active')
      .map(({ id, fields }) => `image ${id}, which a server was to fill, is ${fields['status']}`),
    ...cells.flatMap(({ name, openSagas, instances, feedBehind }) => [
      ...openSagas.map(
        (saga) => `saga ${saga.name} of ${saga.subject} in ${name} is ${saga.state}`,
      ),
      ...instances
        .filter(({ sagaId, taskState }) => sagaId !== null || taskState !== null)
        .map(({ serverId }) => `server ${serverId} is still being changed in ${name}`),
      ...(feedBehind > 0 ? [`${feedBehind} changes of ${name} have reached no gateway`] : []),
    ]),
  ]
}

/**
 * Resolves once no work is in progress and no more records are written, with a snapshot and the milliseconds that this
 * took; at the time limit with a snapshot all the same: the comparison then names the unfinished work.
 */
export async function untilQuiet(
  deployment: Deployment,
  take: () => Promise<Snapshot>,
): Promise<{ readonly snapshot: Snapshot; readonly quietMs: number }> {
  const startMs = performance.now()
  const spentMs = () => performance.now() - startMs
  for (let recorded = -1; ; ) {
    const isOver = spentMs() > LIMIT_MS
    const isStill = stuckIn(await takeInside(deployment)).length === 0
    const { audit, waiting } = await readTrailing(deployment)
    const quietMs = spentMs()
    if (isOver || (isStill && waiting === 0 && audit === recorded)) {
      const snapshot = await take()
      // A host may have had news just now.
      if (isOver || stuckIn(snapshot).length === 0) return { snapshot, quietMs }
    }
    recorded = audit
    await sleep(EVERY_MS)
  }
}
