import type { operations } from '#openapi/identity.gen.ts'
import { changeService } from '../../../app/identity/change-catalog.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { serviceView } from '../../../views/identity/catalog.ts'

type Op = operations['updateService']

/** PATCH /v3/services/{service_id} */
export async function updateService(call: Call<Op>): Promise<Answer<Op>> {
  const { app, params, body, links } = call
  const { type, name, description, enabled, ...extra } = body.service
  const changed = await changeService(app.identity, params.service_id, {
    ...(type !== undefined && { type }),
    ...(name !== undefined && { name: name ?? '' }),
    ...(description !== undefined && { description: description ?? '' }),
    ...(enabled !== undefined && { enabled }),
    extra,
  })
  return { body: { service: serviceView(changed, links) } }
}
