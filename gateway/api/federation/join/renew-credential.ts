import type { operations } from '#openapi/federation.gen.ts'
import { renewCredential as renew } from '../../../app/federation/renew-credential.ts'
import type { Handler } from '../../../http/operation.ts'

/** POST /v1/join/renew */
export const renewCredential: Handler<operations['renewCredential']> = async ({ app, body }) => {
  const credential = await renew(app.db, app.access, body, app.compute.clock.now())
  return { body: { credential } }
}
