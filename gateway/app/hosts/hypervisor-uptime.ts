import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { findHypervisor, type HostIds } from './find-hypervisor.ts'

/** Throws `not-found`, or `unsupported`: no driver tells how long its hypervisor has been up. */
export async function hypervisorUptime(db: Executor, id: string, ids: HostIds): Promise<never> {
  const { view } = await findHypervisor(db, id, ids)
  throw new Failure('unsupported', `The ${view.driver} driver does not report an uptime.`)
}
