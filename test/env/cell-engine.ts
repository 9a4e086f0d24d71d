import { and, eq } from 'drizzle-orm'
import type { Conductor } from '#cells/conductor/conductor.ts'
import type { RunningCell } from '#cells/context.ts'
import { findInstance } from '#cells/db/instances.ts'
import { allocations, resourceProviders } from '#cells/db/schema/placement.ts'
import { systemClock } from '#common/clock.ts'
import type { Transactional } from '#common/db/database.ts'
import type { InstanceId } from '#common/ids.ts'
import { newId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import { SagaEngine } from '#common/saga/engine.ts'
import type { Saga } from '#common/saga/saga.ts'
import type { TestHost } from './test-cell.ts'

const log = createLogger('test', 'silent')

/** A saga engine as one more process of the cell, with a saga and a database of the test's own. */
export function cellEngine<Params>(
  { cell }: RunningCell,
  saga: Saga<Conductor, Params>,
  db: Transactional = cell.conductor.db,
  processName: string = newId(),
): Promise<SagaEngine<Conductor>> {
  const deps = { ...cell.conductor, db }
  return SagaEngine.open({ db, deps, sagas: [saga], processName, clock: systemClock, log })
}

/** Where a server still is, as words: `instance <vm state>`, `allocation`, `guest on <host>`. */
export async function tracesOf(
  { cell }: RunningCell,
  hosts: readonly TestHost[],
  serverId: string,
): Promise<readonly string[]> {
  const { db } = cell.conductor
  const instance = await findInstance(db, serverId as InstanceId)
  const held = await db.orm
    .select()
    .from(allocations)
    .where(and(eq(allocations.consumerId, serverId), eq(allocations.resourceClass, 'VCPU')))
  const guests = await Promise.all(
    hosts.map(async ({ driver, name }) => {
      const list = await driver.list(AbortSignal.timeout(5_000))
      return list.some(({ id }) => id === serverId) ? [`guest on ${name}`] : []
    }),
  )
  return [
    ...(instance === undefined ? [] : [`instance ${instance.vmState}`]),
    ...held.map(() => 'allocation'),
    ...guests.flat(),
  ]
}

/** The sum of all allocations and the sum of the usage that providers count; they must be equal. */
export async function usageOf({ cell }: RunningCell): Promise<{ held: number; counted: number }> {
  const { orm } = cell.conductor.db
  const held = await orm.select().from(allocations).where(eq(allocations.resourceClass, 'VCPU'))
  const providers = await orm.select().from(resourceProviders)
  return {
    held: held.reduce((sum, { used }) => sum + used, 0),
    counted: providers.reduce((sum, { vcpusUsed }) => sum + vcpusUsed, 0),
  }
}
