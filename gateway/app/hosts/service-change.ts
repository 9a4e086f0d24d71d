import { Failure } from '#common/errors.ts'
import type { ServiceChange } from './set-service.ts'

/** What a client asks of a service, as microversion 2.53 words it. */
export interface ServiceUpdate {
  readonly status?: 'enabled' | 'disabled'
  readonly disabled_reason?: string
  readonly forced_down?: boolean
}

/** The change asked for; throws `invalid` for none, and for a reason without a disabling (nova `_perform_action`). */
export function serviceChange(update: ServiceUpdate): ServiceChange {
  const { status, disabled_reason: reason, forced_down: isForcedDown } = update
  if (status === undefined && isForcedDown === undefined)
    throw new Failure(
      'invalid',
      "No updates were requested. Fields 'status' or 'forced_down' should be specified.",
    )
  if (status !== 'disabled' && reason !== undefined)
    throw new Failure('invalid', "'disabled_reason' can be given only when status is 'disabled'.")
  return {
    ...(status === 'enabled' && { isDisabled: false, disabledReason: null }),
    ...(status === 'disabled' && { isDisabled: true, disabledReason: reason ?? null }),
    ...(isForcedDown !== undefined && { isForcedDown }),
  }
}
