import type { WorkContext } from '#common/context.ts'
import { Failure } from '#common/errors.ts'
import { type ServiceDeps, setService } from './set-service.ts'
import { hostNamed } from './show-host.ts'

/**
 * Afterwards the host takes servers or does not. Throws `not-found`; `unsupported` for maintenance: no driver here
 * moves the servers of a host away by itself.
 */
export async function updateHost(
  deps: ServiceDeps,
  work: WorkContext,
  name: string,
  { isEnabled, maintenance }: { readonly isEnabled?: boolean; readonly maintenance?: boolean },
): Promise<void> {
  const host = await hostNamed(deps.db, name)
  if (maintenance !== undefined) throw notSupported()
  if (isEnabled !== undefined)
    await setService(deps, work, host, { isDisabled: !isEnabled, disabledReason: null })
}

/** Throws `not-found`, or `unsupported`: no driver here switches its host on or off. */
export async function switchHost(deps: Pick<ServiceDeps, 'db'>, name: string): Promise<never> {
  await hostNamed(deps.db, name)
  throw notSupported()
}

function notSupported(): Failure {
  return new Failure('unsupported', 'The requested functionality is not supported.')
}
