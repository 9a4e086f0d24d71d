import { Failure } from '#common/errors.ts'
import type { operations } from '#openapi/compute.gen.ts'
import { evacuateServer as evacuate } from '../../../../app/servers/move-server.ts'
import { newPassword } from '../../../../app/servers/new-password.ts'
import type { Handler } from '../../../../http/operation.ts'
import { isSince } from '../../../../views/since.ts'
import { isTrueFlag } from './true-flag.ts'

export const evacuateServer: Handler<operations['evacuateServer']> = async (call) => {
  const { app, context, params, body } = call
  const asked = body.evacuate
  const host = asked.host ?? null
  if (isTrueFlag(asked.force) && host === null)
    throw new Failure('invalid', "Can't force to a non-provided destination")
  if (isTrueFlag(asked.onSharedStorage) && asked.adminPass !== undefined)
    throw new Failure('invalid', "admin password can't be changed on existing disk")
  const isShared = isTrueFlag(asked.onSharedStorage)
  const password = isShared ? null : (asked.adminPass ?? newPassword())
  // Since 2.95 an evacuated server is left stopped.
  const staysOff = isSince(context, '2.95')
  await evacuate(app.compute, context, params.server_id, { host, password, staysOff })
  // Since 2.14 nothing is answered.
  return isSince(context, '2.14') ? {} : { body: { adminPass: password } }
}
