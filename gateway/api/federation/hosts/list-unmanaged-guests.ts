import type { operations } from '#openapi/federation.gen.ts'
import { findOperatedHost } from '../../../app/federation/hosts.ts'
import { listUnmanagedGuests as list } from '../../../app/federation/unmanaged-guests.ts'
import type { Handler } from '../../../http/operation.ts'
import { unmanagedGuestView } from '../../../views/federation/unmanaged-guest.ts'

/** GET /v1/hosts/{host}/guests */
export const listUnmanagedGuests: Handler<operations['listUnmanagedGuests']> = async (call) => {
  const { app, context, params } = call
  const host = await findOperatedHost(app.db, params.host)
  const guests = await list(app.compute, context, host)
  return { body: { guests: guests.map(unmanagedGuestView) } }
}
