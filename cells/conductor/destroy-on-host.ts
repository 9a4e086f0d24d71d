import type { WorkContext } from '#common/context.ts'
import { Failure } from '#common/errors.ts'
import type { HostId } from '#common/ids.ts'
import type { OperationRef } from '#openapi/wire/instance.ts'
import { reasonOf, workOnHost } from './ask-host.ts'
import type { Conductor } from './conductor.ts'

export interface Destruction {
  readonly host: HostId
  /** Its id must be new for every try: a host remembers what it answered. */
  readonly operation: OperationRef
  readonly work: WorkContext
  readonly signal: AbortSignal
  /** Told why the host cannot do it, at every try. */
  readonly refused?: (reason: string) => Promise<void>
}

/**
 * Afterwards nothing of the attempt is on the host, and never will be. A host that cannot do it, or stays silent, is
 * `unavailable`: to be asked again until it has.
 */
export async function destroyOnHost(
  conductor: Conductor,
  { host, operation, work, signal, refused }: Destruction,
): Promise<void> {
  const isWanted = () => Promise.resolve(true)
  const payload = { operation }
  const outcome = await workOnHost(conductor, {
    host,
    operation: 'destroy',
    payload,
    work,
    signal,
    isWanted,
  })
  if (outcome.state !== 'failed') return
  const reason = reasonOf(outcome)
  await refused?.(reason)
  throw new Failure('unavailable', `The host could not destroy the guest: ${reason}`)
}
